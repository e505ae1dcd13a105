import ArgumentParser
import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyItemProtection
import LatchkeyPosix
import LatchkeySodium
import LatchkeySystemd

/// `latchkey collection`
struct CollectionCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "collection", abstract: translated("List, create, rename or delete collections."),
    discussion: translated(
      """
      A collection is what gnome-keyring calls a keyring. 'latchkey passphrase set' gives one a passphrase of its own.

      Examples:
        latchkey collection
        latchkey collection create Private
        latchkey collection rename Private Family
        latchkey collection delete Family
      """),
    subcommands: [List.self, Create.self, Rename.self, Delete.self], defaultSubcommand: List.self)

  static let nameHelp = ArgumentHelp.translated("The collection: its label, or the first part of its items' places.")
  static let labelHelp = ArgumentHelp(translated("The label that people see."), valueName: "label")

  /// `latchkey collection list`
  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: translated("List the collections: the first part of their items' places, label, and number of items.")
    )

    @OptionGroup var place: DaemonPlace
    @Flag(help: .translated("As JSON, with the same keys in every version.")) var json = false

    private struct Line: Encodable {
      let name: String
      let label: String
      let locked: Bool
      let items: Int
    }

    func run() throws {
      try Failure.telling {
        let connection = try VaultConnection(place)
        let lines = try ListedCollection.all(from: connection).map { one in
          Line(name: one.name, label: one.label, locked: one.isLocked, items: try one.items(from: connection).count)
        }
        if json { return print(try JSONText.of(lines)) }
        let width = lines.map(\.name.count).max() ?? 0
        for line in lines { print(TerminalText.printable(Self.text(line, width: width))) }
      }
    }

    private static func text(_ line: Line, width: Int) -> String {
      let items = translated(line.items, one: "\(line.items) item", other: "\(line.items) items")
      let state = line.locked ? translated("locked") : translated("unlocked")
      return line.name.filling(column: width + 2) + "\(line.label); \(items); \(state)"
    }
  }

  /// `latchkey collection create`
  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: translated("Create a collection. Your login unlocks it until it gets a passphrase of its own."))

    @OptionGroup var place: DaemonPlace
    @OptionGroup var prompts: PromptChoice
    @Argument(help: CollectionCommand.labelHelp) var label: String

    func validate() throws { try CollectionCommand.check(label) }

    func run() throws {
      try Failure.telling {
        let connection = try VaultConnection(place)
        try CollectionCommand.checkIsFree(label, on: connection)
        let made = try connection.makeCollection(label: label)
        var path: String? = made.collection
        if let prompt = made.prompt {
          guard !prompts.isForbidden else {
            throw Failure.declined(
              translated("this command needs your answer to a prompt. Run it without --no-prompt."))
          }
          path = try connection.perform(prompt)
        }
        guard let path, path.hasPrefix(ListedCollection.folder) else {
          throw Failure.declined(
            translated("\(PromptOutcome.words(connection.lastOutcome)). Nothing was created."))
        }
        let name = path.dropFirst(ListedCollection.folder.count)
        print(TerminalText.printable(translated("Created the collection '\(label)' (\(String(name))).")))
      }
    }
  }

  /// `latchkey collection rename`
  struct Rename: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: translated("Give a collection another label."))

    @OptionGroup var place: DaemonPlace
    @OptionGroup var prompts: PromptChoice
    @Argument(help: CollectionCommand.nameHelp) var name: String
    @Argument(help: CollectionCommand.labelHelp) var label: String

    func validate() throws { try CollectionCommand.check(label) }

    func run() throws {
      try Failure.telling {
        let connection = try VaultConnection(place)
        let collection = try ListedCollection.named(name, from: connection)
        try CollectionCommand.checkIsFree(label, on: connection)
        try connection.opening(collection.path, asking: !prompts.isForbidden) {
          try connection.set("Label", of: collection.path, on: VaultConnection.collection, "s") {
            $0.appendString(label)
          }
        }
        print(
          TerminalText.printable(translated("The collection '\(collection.title)' is called '\(label)' now.")))
      }
    }
  }

  /// `latchkey collection delete`
  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: translated("Delete a collection with all its items."),
      discussion: translated(
        """
        'latchkey history restore' brings the collection back from a generation of the vault, unless it had a \
        passphrase of its own.
        If you forgot that passphrase, --forgotten-passphrase deletes the collection all the same. This option asks \
        for your login password instead. The vault must be unlocked.
        """))

    @OptionGroup var place: DaemonPlace
    @OptionGroup var prompts: PromptChoice
    @OptionGroup var asking: PresenceAsking
    @Flag(help: .translated("Do not ask for confirmation.")) var yes = false
    @Flag(help: .translated("Ask for your login password instead of the collection's passphrase."))
    var forgottenPassphrase = false
    @Argument(help: CollectionCommand.nameHelp) var name: String

    func run() throws {
      try Failure.telling {
        let connection = try VaultConnection(place)
        let collection = try ListedCollection.named(name, from: connection)
        let count = try collection.items(from: connection).count
        if forgottenPassphrase {
          try deleteLocked(collection, items: count)
        } else {
          if !yes { try confirm(collection, items: count) }
          do {
            try connection.opening(collection.path, asking: !prompts.isForbidden) {
              try connection.call(collection.path, VaultConnection.collection, "Delete", read: { _ in })
            }
          } catch let failure as Failure { throw try advised(failure, collection) }
        }
        print(TerminalText.printable(translated("Deleted the collection '\(collection.title)'.")))
      }
    }

    /// The vault knows whether the collection has a passphrase, and refuses a collection without a passphrase.
    private func deleteLocked(_ collection: ListedCollection, items: Int) throws {
      // The password is in this process for a moment.
      try LatchkeyPosix.Process.forbidInspection()
      try Sodium.initialize()
      let status = try place.status()
      guard status.state == .unlocked else {
        throw Failure.locked(StatusCommand.lockReasons(status).joined(separator: ", "))
      }
      if !yes { try confirm(collection, items: items) }
      if !status.passwordless { try asking.check(try asking.conversation()) }
      do {
        try place.connect().ask(
          DeleteCollection(collection: collection.name),
          until: LatchkeyPosix.Process.now + StatusCommand.answerLimit)
      } catch ControlError.declined(let reason) { throw Failure.declined(reason.told) }
    }

    /// Adds advice to a failure, if the collection stayed locked although the vault is unlocked: the way without the passphrase.
    private func advised(_ failure: Failure, _ collection: ListedCollection) throws -> Failure {
      guard case .stillLocked(let text) = failure, try place.status().state == .unlocked else { return failure }
      return .stillLocked(
        translated(
          """
          \(text)
          If nobody knows its passphrase, 'latchkey collection delete --forgotten-passphrase \(collection.name)' deletes it.
          """))
    }

    private func confirm(_ collection: ListedCollection, items: Int) throws {
      try Confirmation.requireTerminal()
      let title = TerminalText.printable(collection.title)
      print(
        translated(
          items, one: "The collection '\(title)' has 1 item, which will be deleted too.",
          other: "The collection '\(title)' has \(items) items, which will be deleted too."))
      print(translated("If you want that, type the label of the collection: "), terminator: "")
      fflush(nil)
      guard readLine() == collection.title else {
        throw Failure.declined(translated("that is not the collection's label, so nothing was done."))
      }
    }
  }

  private static func check(_ label: String) throws {
    guard !label.isEmpty else { throw ValidationError(translated("A collection needs a label.")) }
  }

  /// Two collections with one label could not be distinguished.
  private static func checkIsFree(_ label: String, on connection: VaultConnection) throws {
    guard try !ListedCollection.all(from: connection).contains(where: { $0.label == label }) else {
      throw Failure.declined(translated("there is a collection with that label already. Nothing was changed."))
    }
  }
}
