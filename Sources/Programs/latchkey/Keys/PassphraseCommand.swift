import ArgumentParser
import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyPAMClient
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySodium

/// `latchkey passphrase`
struct PassphraseCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "passphrase",
    abstract: translated("Give a collection a passphrase of its own, or remove that passphrase."),
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

    @OptionGroup var place: DaemonPlace
    @OptionGroup var asking: PassphraseAsking
    @Argument(help: .translated("The collection: its label, or the last part of its object path.")) var collection:
      String

    func run() throws {
      try Failure.telling {
        let ending = EndingGenerations(place)
        try asking.ask(.newPassphrase, collection: collection, at: place)
        print(translated("The passphrase of the collection is set."))
        ending.report()
        warn()
      }
    }

    /// A damaged database that healing kept has the keys of the collection under the login alone.
    private func warn() {
      guard let status = try? place.status() else { return }
      for name in status.damagedFiles where name.hasPrefix("vault.db.damaged-") {
        let text = translated(
          "The former file \(status.vaultPath)/\(name) still opens with your login alone. Check your items, then delete that file."
        )
        StandardStream.error.show(TerminalText.printable(text) + "\n")
      }
    }
  }

  /// `latchkey passphrase remove`
  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: translated("Remove the passphrase, so that your login unlocks the collection. It must be unlocked now.")
    )

    @OptionGroup var place: DaemonPlace
    @Flag(help: .translated("Do not ask for confirmation."))
    var yes = false
    @Argument(help: .translated("The collection: its label, or the last part of its object path.")) var collection:
      String

    func run() throws {
      try Failure.telling {
        if !yes { try confirm() }
        do {
          try place.connect().ask(
            RemovePassphrase(collection: collection), until: LatchkeyPosix.Process.now + StatusCommand.answerLimit)
        } catch ControlError.declined(let reason) { throw PassphraseAsking.declined(reason, at: place) }
        print(translated("The collection has no passphrase any more."))
      }
    }

    private func confirm() throws {
      try Confirmation.requireTerminal()
      StandardStream.output.show(
        translated("Your login alone will unlock the collection '\(TerminalText.printable(collection))'.") + "\n")
      try Confirmation.ask()
    }
  }
}

/// Asking for a passphrase on this terminal, by PAM.
struct PassphraseAsking: ParsableArguments {
  @Flag(help: .translated("Take the passphrase from a line of standard input instead of the terminal."))
  var stdin = false

  @Option(help: ArgumentHelp(translated("Use this folder of PAM services instead of /etc/pam.d."), visibility: .hidden))
  var pamFolder: String?

  /// Asks for the passphrase, and gives the daemon the key that comes from it.
  func ask(_ purpose: PromptRequest.Purpose, collection: String, at place: DaemonPlace) throws {
    try Self.ask(purpose, collection: collection, at: place, stdin, pamFolder)
  }

  static func ask(
    _ purpose: PromptRequest.Purpose, collection: String, at place: DaemonPlace, _ stdin: Bool, _ pamFolder: String?
  ) throws {
    // The passphrase is in this process for a moment.
    try LatchkeyPosix.Process.forbidInspection()
    try Sodium.initialize()
    guard let account = Account(uid: getuid()) else { throw Failure.unavailable(translated("you have no account")) }
    // The end of this connection would end the prompt.
    let client = try place.connect()
    do {
      let prompt = try client.ask(
        OpenPrompt(purpose, collection: collection), until: LatchkeyPosix.Process.now + StatusCommand.answerLimit)
      if purpose == .newPassphrase && !stdin { EndingGenerations(place).announceForPassphrase() }
      let terminal = try TerminalConversation.asking(standardInput: stdin)
      let label = TerminalText.printable(prompt.request.label)
      let conversation: any Conversation =
        purpose == .newPassphrase && !stdin
        ? RepeatedConversation(terminal, question: translated("New passphrase for '\(label)': "))
        : TranslatedConversation(terminal, passphraseQuestion: translated("Passphrase for '\(label)': "))
      let outcome = Authentication.run(
        service: "latchkey-collection", user: account.name, terminal: ttyname(0).map { String(cString: $0) },
        folder: pamFolder,
        environment: ["LATCHKEY_PROMPT": "\(prompt.number)", "LATCHKEY_LABEL": prompt.request.label],
        conversation: conversation,
        again: terminal.tries(
          purpose == .collection && !stdin ? UnlockCommand.tryCount : 1,
          saying: translated("That is not the collection's passphrase. Try again.")))
      switch outcome {
      case .accepted: break
      case _ where terminal.wasCancelled: throw Failure.cancelled
      case .refused where purpose == .collection: throw Failure.wrongPassphrase
      case .refused(let text, _): throw Failure.notTaken(text)
      case .unavailable(let phrase): throw Failure.notTaken(phrase.translated)
      }
      try client.tell(EndPrompt(.granted))
    } catch ControlError.declined(let reason) { throw declined(reason, at: place) }
  }

  /// The vault's answer, with the names of all collections if no collection has this name.
  static func declined(_ reason: Reason, at place: DaemonPlace) -> Failure {
    guard reason == .refusal(.noCollectionOfName), let connection = try? VaultConnection(place),
      let all = try? ListedCollection.all(from: connection)
    else { return .declined(reason.told) }
    return .declined(ListedCollection.unknown(among: all))
  }
}

/// A conversation in which the person gives a new secret twice.
final class RepeatedConversation: Conversation {
  private let terminal: TerminalConversation
  private let question: String

  /// - Parameter question: the text that asks for the new secret instead of PAM's own question.
  init(_ terminal: TerminalConversation, question: String) { (self.terminal, self.question) = (terminal, question) }

  func answer(_ message: ConversationMessage, _ body: (borrowing SecureBytes) -> Void) {
    guard case .secret = message else { return terminal.answer(message, body) }
    var isDone = false
    while !isDone && !terminal.wasCancelled {
      terminal.answer(.secret(question)) { first in
        terminal.answer(.secret(translated("The same again: "))) { second in
          isDone = first.count > 0 && Sodium.equal(first.bytes, second.bytes)
          if isDone { body(first) }
        }
        if !isDone && !terminal.wasCancelled {
          terminal.answer(
            .error(
              first.count > 0
                ? translated("The two answers differ. Try again.") : translated("The answer must not be empty.")),
            { _ in })
        }
      }
    }
  }
}

/// A conversation that translates the English words of Latchkey's PAM module into the person's language.
final class TranslatedConversation: Conversation {
  private let terminal: TerminalConversation
  private let passphraseQuestion: String?
  /// The number of answers to the question for the former login password.
  private(set) var formerCount = 0

  /// - Parameter passphraseQuestion: the text in place of the module's question for a passphrase.
  init(_ terminal: TerminalConversation, passphraseQuestion: String? = nil) {
    (self.terminal, self.passphraseQuestion) = (terminal, passphraseQuestion)
  }

  func answer(_ message: ConversationMessage, _ body: (borrowing SecureBytes) -> Void) {
    switch message {
    case .info(let text): terminal.answer(.info(Self.told(text)), body)
    case .error(let text): terminal.answer(.error(Self.told(text)), body)
    case .secret(let text):
      let isForPassphrase = text.hasPrefix("Passphrase for '")
      terminal.answer(.secret(isForPassphrase ? passphraseQuestion ?? text : Self.told(text))) { answer in
        if text.hasPrefix("Former login password") { formerCount += 1 }
        body(answer)
      }
    case .visible: terminal.answer(message, body)
    }
  }

  func check() { terminal.check() }
  func endCheck() { terminal.endCheck() }

  private static func told(_ text: String) -> String {
    switch text {
    case "Your login password was changed without Latchkey. Enter the former password once.":
      translated("Your login password was changed without Latchkey. Enter the former password once.")
    case "Former login password, or recovery code: ": translated("Former login password, or recovery code: ")
    default: text
    }
  }
}

extension TerminalConversation {
  /// The terminal, or standard input if an option says so.
  static func asking(standardInput: Bool) throws -> TerminalConversation {
    if standardInput { return TerminalConversation(standardInput: ()) }
    do { return try TerminalConversation() } catch { throw Failure.noTerminal }
  }

  /// Whether the person may answer once more. The person may answer `count` times, but not after a refusal without a question, and
  /// not after `isDone` is true. Before another try, the person reads `text`.
  func tries(_ count: Int, saying text: String, isDone: @escaping () -> Bool = { false }) -> () -> Bool {
    var left = count
    var answered = 0
    return {
      left -= 1
      defer { answered = self.answerCount }
      guard left > 0, !self.wasCancelled, self.answerCount > answered, !isDone() else { return false }
      self.answer(.error(text), { _ in })
      return true
    }
  }
}
