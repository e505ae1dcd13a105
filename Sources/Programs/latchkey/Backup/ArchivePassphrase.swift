import ArgumentParser
import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeyPAMClient
import LatchkeyPosix
import LatchkeySodium

/// Asks for the passphrase of a backup, by PAM. latchkey-derive derives a key from it, and gives the key to the daemon.
struct ArchivePassphrase: ParsableArguments {
  @Flag(help: .translated("Take the passphrase from a line of standard input instead of the terminal."))
  var passphraseStdin = false

  @Option(help: ArgumentHelp(translated("Use this folder of PAM services instead of /etc/pam.d."), visibility: .hidden))
  var pamFolder: String?

  /// The conversation with the person. It begins before the first request to the daemon, which would otherwise wait for the
  /// person.
  func conversation() throws -> TerminalConversation {
    // The passphrase is in this process for a moment.
    try LatchkeyPosix.Process.forbidInspection()
    try Sodium.initialize()
    return try TerminalConversation.asking(standardInput: passphraseStdin)
  }

  /// Asks for the passphrase of the backup `name`, for the daemon's prompt of that number.
  ///
  /// - Parameter cost: the cost of one guess; nil for a new passphrase.
  func ask(_ terminal: TerminalConversation, prompt: UInt64, name: String, cost: PasswordCost?) throws {
    guard let account = Account(uid: getuid()) else { throw Failure.unavailable(translated("you have no account")) }
    let shown = TerminalText.printable(name)
    let conversation: any Conversation =
      cost == nil && !passphraseStdin
      ? RepeatedConversation(terminal, question: translated("New passphrase for '\(shown)': "))
      : TranslatedConversation(terminal, passphraseQuestion: translated("Passphrase for '\(shown)': "))
    let outcome = Authentication.run(
      service: "latchkey-collection", user: account.name, terminal: ttyname(0).map { String(cString: $0) },
      folder: pamFolder, environment: ["LATCHKEY_PROMPT": "\(prompt)", "LATCHKEY_LABEL": name],
      conversation: conversation)
    switch outcome {
    case .accepted: return
    case _ where terminal.wasCancelled: throw Failure.cancelled
    case .refused where cost != nil: throw Failure.wrongBackupPassphrase
    case .unavailable(let text):
      let hint = cost.map {
        "\n"
          + translated(
            """
            Checking the passphrase of this backup needs \($0.memory >> 20) MiB of memory and \($0.passes) passes. If \
            this machine has less free memory, or needs more than 90 seconds, restore the backup on another machine.
            """)
      }
      throw Failure.notTaken(text.translated, hint: hint ?? "")
    case .refused(let text, _): throw Failure.notTaken(text)
    }
  }
}
