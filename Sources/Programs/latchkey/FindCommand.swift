import ArgumentParser
import LatchkeyGettext
import LatchkeyKeybag

/// `latchkey find`
struct FindCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "find",
    abstract: translated("List items: label, attributes, class, and whether they can be read. Never a secret."),
    discussion: translated(
      """
      Without attributes it lists everything. Locked items are listed too. Before the first login, it lists only what is \
      known without your password. It never asks for anything. The exit status is 2 if no item matches.

      Examples:
        latchkey find
        latchkey find service=mail user=me
        latchkey find --class after-first-unlock --json
      """))

  @OptionGroup var place: Place
  @Option(
    name: .customLong("class"), help: ArgumentHelp(translated("Only items of this class."), valueName: "class"),
    completion: AccessibilityClass.completion)
  var className: String?
  @Option(
    help: ArgumentHelp(
      translated("Only items of this collection: its label, or the first part of where an item is."), valueName: "name")
  )
  var collection: String?
  @Flag(help: .translated("As JSON, with the same keys in every version.")) var json = false
  @Argument(help: ArgumentHelp(translated("Attributes that the items have."), valueName: "name=value"))
  var attributes: [String] = []

  func validate() throws {
    _ = try AccessibilityClass.option(className)
    _ = try ItemAttributes(attributes)
  }

  private var isForAll: Bool { attributes.isEmpty && className == nil && collection == nil }

  func run() throws {
    try Failure.telling {
      let wanted = try AccessibilityClass.option(className)
      let connection = try VaultConnection(place)
      let home = try collection.map { try ListedCollection.named($0, from: connection) }
      let paths = try connection.search(try ItemAttributes(attributes).values)
      let found = try ListedItem.described(try ItemSelector.items(paths, from: connection), from: connection)
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
            : translated("no item matches. 'latchkey find' without arguments lists all."))
      }
    }
  }
}
