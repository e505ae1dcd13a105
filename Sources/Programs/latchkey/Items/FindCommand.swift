import ArgumentParser
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeyText

/// `latchkey find`
struct FindCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "find",
    abstract: translated("List items: label, attributes, class, and whether they can be read. Never a secret."),
    discussion: translated(
      """
      Without arguments it lists everything. A word without '=' is searched for in the labels, in capital or small \
      letters, or is the place of an item (as login/5). Locked items are listed too. Before the first login, it lists \
      only what is known without your password. It never asks for anything. The exit status is 2 if no item matches.

      Examples:
        latchkey find
        latchkey find service=mail user=me
        latchkey find mail
        latchkey find --class after-first-unlock --json
      """))

  @OptionGroup var place: DaemonPlace
  @Option(
    name: .customLong("class"), help: ArgumentHelp(translated("Only items of this class."), valueName: "class"),
    completion: AccessibilityClass.completion)
  var className: String?
  @Option(
    help: ArgumentHelp(
      translated("Only items of this collection. Give its label, or the first part of an item's place."),
      valueName: "name")
  )
  var collection: String?
  @Flag(help: .translated("As JSON, with the same keys in every version.")) var json = false
  @Argument(
    help: ArgumentHelp(
      translated("Attributes that the items have, or words of their labels."), valueName: "name=value|word"))
  var words: [String] = []

  func validate() throws {
    _ = try AccessibilityClass.option(className)
    _ = try ItemAttributes(attributes)
  }

  private var attributes: [String] { words.filter { $0.contains("=") } }
  /// In small letters, because labels are compared in that way.
  private var labels: [String] { words.filter { !$0.contains("=") }.map { $0.lowercased() } }

  private var isForAll: Bool { words.isEmpty && className == nil && collection == nil }

  private func matches(_ item: ListedItem) -> Bool {
    guard !labels.isEmpty else { return true }
    let label = item.label?.lowercased() ?? ""
    return labels.allSatisfy { $0 == item.place.lowercased() || label.contains(text: $0) }
  }

  func run() throws {
    try Failure.telling {
      let wanted = try AccessibilityClass.option(className)
      let connection = try VaultConnection(place)
      let home = try collection.map { try ListedCollection.named($0, from: connection) }
      let all = try ItemSelector.found(try ItemAttributes(attributes).values, from: connection)
      let found = try ListedItem.described(all.filter(matches), from: connection)
        .filter { (wanted == nil || $0.accessibility == wanted) && (home == nil || $0.collectionPath == home?.path) }
      if json {
        print(try JSONText.of(found))
      } else if !found.isEmpty {
        print(found.map(\.text).joined(separator: "\n"))
      }
      guard !found.isEmpty else {
        throw Failure.noItem(
          isForAll
            ? translated("the vault has no items.")
            : !labels.isEmpty && all.contains { $0.label == nil }
              ? translated(
                "no label that can be read now has these words. Run 'latchkey unlock', or for a locked collection 'latchkey unlock --collection NAME', then this again."
              )
              : translated("no item matches. 'latchkey find' without arguments lists all."))
      }
    }
  }
}
