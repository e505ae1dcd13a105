import ArgumentParser
import Glibc
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySecretClient
import LatchkeySodium
import LatchkeySystemd

/// `latchkey add`
struct AddCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: translated("Store a new item, or replace one with --replace."),
    discussion: translated(
      """
      \(SecretInput.explanation)
      Without --class, the class rules choose the class of a new item (latchkey rules).

      Examples:
        latchkey add --label Mail service=mail user=me
        latchkey add --label Key --class after-first-unlock service=backup <key.bin
        echo secret | latchkey add --replace --label Mail service=mail user=me
      """))

  @OptionGroup var place: DaemonPlace
  @OptionGroup var prompts: PromptChoice
  @OptionGroup var input: SecretInput
  @Option(help: ArgumentHelp(translated("The label that people see."), valueName: "text")) var label: String
  @Option(
    name: .customLong("class"), help: ArgumentHelp(AccessibilityClass.help, valueName: "class"),
    completion: AccessibilityClass.completion)
  var className: String?
  @Option(
    help: ArgumentHelp(
      translated("What each reading of the item requires."),
      discussion: AccessControl.help, valueName: "what"))
  var require: String?
  @Option(
    help: ArgumentHelp(
      translated(
        "The collection for the item: its label, or the first part of its items' places. By default 'login'."),
      valueName: "name"))
  var collection: String?
  @Option(
    help: ArgumentHelp(
      translated("What kind of data the secret is."),
      discussion: translated("By default text/plain, or application/octet-stream for binary data."),
      valueName: "type"))
  var contentType: String?
  @Flag(help: .translated("Replace the item that has just these attributes, if there is one.")) var replace = false
  @Flag(help: .translated("Report as JSON, with the same keys in every version.")) var json = false
  @Argument(help: ArgumentHelp(translated("The attributes by which programs find the item."), valueName: "name=value"))
  var attributes: [String]

  func validate() throws {
    _ = try AccessibilityClass.option(className)
    _ = try ItemAttributes(attributes)
    _ = try AccessControl.option(require)
  }

  private struct Report: Encodable {
    let path: String
    let replaced: Bool
    let newline_removed: Bool
  }

  func run() throws {
    try Failure.telling {
      // The secret is in this process for a moment.
      try LatchkeyPosix.Process.forbidInspection()
      try Sodium.initialize()
      let connection = try VaultConnection(place)
      let home = try ListedCollection.named(collection, from: connection)
      let values = try ItemAttributes(attributes).values
      let same = try connection.items(with: values, in: home.path, asking: !prompts.isForbidden)
      if let first = same.first, !replace {
        throw Failure.declined(
          translated(
            """
            there is an item with just these attributes:
              \(first.title)
            Use --replace to store the new secret in its place, or give the new item another attribute.
            """))
      }
      let (secret, wasCut) = try input.read(contentType: contentType)
      let channel = try connection.openChannel()
      var prompt: String?
      var path = try connection.opening(same.first?.path ?? home.path, asking: !prompts.isForbidden) {
        var stated = values
        stated[ItemAttributes.className] = className
        stated[ItemAttributes.requireName] = require == "none" ? "" : require
        let stored = try connection.store(
          secret, label: label, attributes: stated, in: home.path, replacing: replace, by: channel)
        prompt = stored.prompt
        return stored.item
      }
      if let prompt {
        guard !prompts.isForbidden else {
          throw Failure.declined(
            translated(
              "the item needs a passphrase, which only a prompt can ask for. Run the command without --no-prompt."))
        }
        guard let made = try connection.perform(prompt) else {
          throw Failure.declined(translated("no passphrase was chosen. Nothing was stored."))
        }
        path = made
      }
      FingerRequirement.warn(require)
      let place = String(path.dropFirst(ListedCollection.folder.count))
      let replaced = same.contains { $0.path == path }
      if json { return print(try JSONText.of(Report(path: place, replaced: replaced, newline_removed: wasCut))) }
      var words: String
      switch (replaced, wasCut) {
      case (true, true):
        words = translated("Replaced the secret of \(place) in \(home.title), without the line end of the input.")
      case (true, false): words = translated("Replaced the secret of \(place) in \(home.title).")
      case (false, true): words = translated("Added \(place) in \(home.title), without the line end of the input.")
      case (false, false): words = translated("Added \(place) in \(home.title).")
      }
      if secret.count == 0 { words += " " + translated("The secret is empty, because the input was empty.") }
      print(TerminalText.printable(words))
    }
  }
}
