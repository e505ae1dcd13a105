import ArgumentParser
import Glibc
import LatchkeyGettext
import LatchkeyPAMClient
import LatchkeyPosix

/// Asks whether the person is there, by the PAM service that items with this requirement use.
struct PresenceAsking: ParsableArguments {
  @Flag(help: .translated("Take what is asked for from lines of standard input instead of the terminal."))
  var stdin = false

  @Option(help: ArgumentHelp(translated("Use this folder of PAM services instead of /etc/pam.d."), visibility: .hidden))
  var pamFolder: String?

  private static let service = "latchkey-presence"

  func conversation() throws -> TerminalConversation { try TerminalConversation.asking(standardInput: stdin) }

  /// PAM asks its own questions.
  func check(_ terminal: TerminalConversation) throws {
    guard let account = Account(uid: getuid()) else { throw Failure.unavailable(translated("you have no account")) }
    let outcome = Authentication.run(
      service: Self.service, user: account.name, terminal: ttyname(0).map { String(cString: $0) }, folder: pamFolder,
      conversation: terminal)
    switch outcome {
    case .accepted: return
    case _ where terminal.wasCancelled: throw Failure.cancelled
    case .refused(let text, let isPlain): throw Failure.refused(isPlain ? nil : text)
    case .unavailable(let phrase):
      let why = phrase.translated
      throw Failure.declined(
        translated(
          """
          your presence could not be checked: \(why).
          Is there a PAM service '\(Self.service)' in /etc/pam.d?
          """))
    }
  }
}
