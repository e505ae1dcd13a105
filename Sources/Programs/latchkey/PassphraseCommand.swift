import ArgumentParser
import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyPAMClient
import LatchkeyPosix
import LatchkeySodium

/// `latchkey passphrase`
struct PassphraseCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "passphrase", abstract: translated("Give a collection a passphrase of its own, or remove it."),
    discussion: translated(
      """
      A collection with a passphrase of its own requires it on top of your login, once in each session and after each \
      time that the collection was locked. Nothing else unlocks it: if you forget the passphrase, the items are lost.
      """),
    subcommands: [Set.self, Remove.self])

  /// `latchkey passphrase set`
  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: translated("Set or change the passphrase of a collection."))

    @OptionGroup var place: Place
    @OptionGroup var asking: PassphraseAsking
    @Argument(help: .translated("The collection: its label, or the last part of its object path.")) var collection:
      String

    func run() throws {
      try Failure.telling {
        try asking.ask(.newPassphrase, collection: collection, at: place)
        print(translated("The passphrase of the collection is set."))
        warn()
      }
    }

    /// A damaged database that healing kept has the keys of the collection under the login alone.
    private func warn() {
      guard let status = try? place.status() else { return }
      for name in status.damagedFiles where name.hasPrefix("vault.db.damaged-") {
        let text = translated(
          "\(status.vaultPath)/\(name) still opens with your login alone. Check your items, then delete it.")
        StandardStream.error.show(TerminalText.printable(text) + "\n")
      }
    }
  }

  /// `latchkey passphrase remove`
  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: translated("Remove the passphrase, so that your login unlocks the collection. It must be unlocked now.")
    )

    @OptionGroup var place: Place
    @Argument(help: .translated("The collection: its label, or the last part of its object path.")) var collection:
      String

    func run() throws {
      try Failure.telling {
        do {
          try place.connect().ask(
            RemovePassphrase(collection: collection), until: LatchkeyPosix.Process.now + StatusCommand.answerLimit)
        } catch ControlError.declined(let reason) { throw Failure.declined(reason) }
        print(translated("The collection has no passphrase any more."))
      }
    }
  }
}

/// Asking for a passphrase on this terminal, by PAM.
struct PassphraseAsking: ParsableArguments {
  @Flag(help: .translated("Take the passphrase from a line of standard input instead of the terminal."))
  var stdin = false

  @Option(help: ArgumentHelp(translated("A folder of PAM services in the place of /etc/pam.d."), visibility: .hidden))
  var pamFolder: String?

  /// Asks, and lets the daemon have what the passphrase gives.
  func ask(_ purpose: PromptRequest.Purpose, collection: String, at place: Place) throws {
    try Self.ask(purpose, collection: collection, at: place, stdin, pamFolder)
  }

  static func ask(
    _ purpose: PromptRequest.Purpose, collection: String, at place: Place, _ stdin: Bool, _ pamFolder: String?
  ) throws {
    // The passphrase is in this process for a moment.
    try LatchkeyPosix.Process.forbidInspection()
    try Sodium.initialize()
    guard let account = Account(uid: getuid()) else { throw Failure.unavailable(translated("you have no account")) }
    // Its end would be the prompt's.
    let client = try place.connect()
    do {
      let prompt = try client.ask(
        OpenPrompt(purpose, collection: collection), until: LatchkeyPosix.Process.now + StatusCommand.answerLimit)
      let terminal = try TerminalConversation.asking(standardInput: stdin)
      let outcome = Authentication.run(
        service: "latchkey-collection", user: account.name, terminal: ttyname(0).map { String(cString: $0) },
        folder: pamFolder,
        environment: ["LATCHKEY_PROMPT": "\(prompt.number)", "LATCHKEY_LABEL": prompt.request.label],
        conversation: purpose == .newPassphrase && !stdin ? RepeatedConversation(terminal) : terminal)
      switch outcome {
      case .accepted: break
      case _ where terminal.wasCancelled: throw Failure.cancelled
      case .refused where purpose == .collection: throw Failure.wrongPassphrase
      case .refused(let text), .unavailable(let text): throw Failure.notTaken(text)
      }
      try client.tell(EndPrompt(.granted))
    } catch ControlError.declined(let reason) { throw Failure.declined(reason) }
  }
}

/// A conversation in which what is new is given twice.
final class RepeatedConversation: Conversation {
  private let terminal: TerminalConversation

  init(_ terminal: TerminalConversation) { self.terminal = terminal }

  func answer(_ message: ConversationMessage, _ body: (borrowing SecureBytes) -> Void) {
    guard case .secret(let text) = message else { return terminal.answer(message, body) }
    var isDone = false
    while !isDone && !terminal.wasCancelled {
      terminal.answer(.secret("New " + text.prefix(1).lowercased() + text.dropFirst())) { first in
        terminal.answer(.secret(translated("The same again: "))) { second in
          isDone = first.count > 0 && Sodium.equal(first.bytes, second.bytes)
          if isDone { body(first) }
        }
        if !isDone && !terminal.wasCancelled {
          terminal.answer(
            .error(first.count > 0 ? translated("They differ. Try again.") : translated("It must not be empty.")),
            { _ in })
        }
      }
    }
  }
}

extension TerminalConversation {
  /// The terminal, or standard input where that was asked for.
  static func asking(standardInput: Bool) throws -> TerminalConversation {
    if standardInput { return TerminalConversation(standardInput: ()) }
    do { return try TerminalConversation() } catch { throw Failure.noTerminal }
  }
}
