import ArgumentParser
import Glibc
import LatchkeyControl
import LatchkeyDoctor
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySecretClient
import LatchkeySystemd

/// The message for the person when a command failed, and its exit status.
enum Failure: Error {
  case noDaemon(String)
  case strangeDaemon(String)
  case silent
  case otherVersion
  case noTerminal
  case cancelled
  /// Without a text, the only message is that the answer was wrong.
  case refused(String?, createsVault: Bool = false)
  case unavailable(String)
  case stillLocked(String)
  case declined(String)
  case wrongPassphrase
  case wrongBackupPassphrase
  case backup(String)
  case file(String)
  case notTaken(String, hint: String = "")
  case rules([String])
  case deviceService(String)
  case locked(String)
  case noItem(String)
  case noService(String)

  /// The exit status: 1 for work that could not be done, 2 if there is no such item, and 3 if no vault is running. ArgumentParser
  /// uses 64 for wrong usage.
  private var status: Int32 {
    switch self {
    case .noDaemon, .strangeDaemon, .silent, .otherVersion, .noService: 3
    case .noItem: 2
    case .noTerminal, .cancelled, .refused, .unavailable, .stillLocked, .declined, .wrongPassphrase,
      .wrongBackupPassphrase, .backup, .file, .notTaken, .rules, .deviceService, .locked:
      1
    }
  }

  private var explanation: String {
    switch self {
    case .noDaemon(let path):
      NoVault.masked
        ?? translated(
          """
          no vault is running: no program listens at \(path).
          \(NoVault.start)
          """)
    case .strangeDaemon(let path):
      translated(
        "another user's program listens at \(path), so nothing was sent to it. Find out who created that file.")
    case .silent:
      translated("the vault does not answer. See 'systemctl --user status latchkeyd' for what it is doing.")
    case .otherVersion:
      translated(
        """
        the latchkeyd that runs is of another version than this command, because it was started before an upgrade.
        Restart it with 'systemctl --user restart latchkeyd && latchkey unlock'.
        """)
    case .noTerminal:
      translated(
        "there is no terminal to ask for the password on. In a script, give it as a line of input with --stdin.")
    case .cancelled:
      translated("you gave no answer, so nothing was done. Run the command again when you want to.")
    case .refused(let text, let createsVault):
      (text.map {
        translated("the password was not accepted (\($0)). Try again with your login password.")
      } ?? translated("the password was not accepted. Try again with your login password."))
        + (createsVault
          ? "\n" + translated("An account without a password, for example with ssh keys only, cannot have a vault.")
          : "")
    case .unavailable(let text):
      translated(
        """
        the password could not be checked: \(text).
        Is there a PAM service 'latchkey-unlock' in /etc/pam.d?
        """)
    case .stillLocked(let text), .declined(let text), .noItem(let text), .noService(let text): text
    case .locked(let reason):
      translated("it is locked (\(reason)). Run 'latchkey unlock', then this again.")
    case .backup(let text), .file(let text): text
    case .wrongBackupPassphrase: translated("that is not the backup's passphrase. Nothing was restored. Try again.")
    case .wrongPassphrase: translated("that is not the collection's passphrase. Try again.")
    case .notTaken(let text, let hint):
      translated(
        """
        the passphrase was not accepted: \(text).
        Is there a PAM service 'latchkey-collection' in /etc/pam.d? The system log has a line of pam_latchkey that says why.\(hint)
        """)
    case .deviceService(let text):
      translated(
        """
        the device key service refused: \(text).
        See 'systemctl status latchkey-deviced.socket latchkey-deviced.service'.
        """)
    case .rules(let problems):
      translated("the class rules have errors:") + "\n" + problems.map { "  \($0)\n" }.joined()
        + translated(
          "Correct the file. Until then the vault uses the rules that it read from the file before, or no rule of that file."
        )
    }
  }

  /// Turns the vault's answer to a program into a message for people.
  init(_ error: BusError) {
    if error.isNoSuchObject {
      self = .noItem(translated("there is no such item. 'latchkey find' lists what there is."))
    } else if error.isStandard("Disconnected") || error.isStandard("NoReply") {
      self = .silent
    } else {
      self = .declined(error.told + Self.withoutVault(error))
    }
  }

  /// A second line, if there is no vault and the account has no password that could create one.
  private static func withoutVault(_ error: BusError) -> String {
    guard error.reason?.isLackOfVault == true, let ways = StatusCommand.waysWithoutPassword
    else { return "" }
    return "\n\(ways)"
  }

  /// Why there is no connection to the vault.
  init(_ failure: ConnectionFailure) {
    switch failure {
    case .noBus:
      self = .noService(
        translated(
          "there is no session bus, and programs reach the vault by it. Log in again, or run this in your session."))
    case .notRunning:
      self = .noService(
        NoVault.masked
          ?? translated(
            """
            no vault is running, and the session bus could not start it.
            \(NoVault.start)
            """))
    case .stranger:
      self = .noService(
        translated(
          "another user's program keeps the secrets of this session, so nothing was sent to it. Find out who started it."
        )
      )
    case .otherService:
      if let masked = NoVault.maskedForAll {
        self = .noService(masked)
        return
      }
      let finding = SessionQuestions.strangeOwner()
      var lines = [translated("another program keeps the secrets of this session, not Latchkey.")]
      if let finding { lines.append("\(finding.found).") }
      if case .advice(let text)? = finding?.fix {
        lines.append(text)
      } else {
        let command = finding?.command ?? "latchkey switch --to latchkey"
        lines.append(translated("Run '\(command)', then this again."))
      }
      self = .noService(lines.joined(separator: "\n"))
    case .broken(let error): self.init(error)
    }
  }

  /// Prints the message on standard error, and ends the program.
  func end() -> Never {
    let lines = explanation.split(separator: "\n").map { TerminalText.printable(String($0)) }
    StandardStream.error.show("latchkey: \(lines.joined(separator: "\n"))\n")
    Glibc.exit(status)
  }

  /// Runs a command, and shows its failures to a person.
  static func telling<Result: ~Copyable>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let failure as Failure { failure.end() } catch let error as BusError {
      Failure(error).end()
    } catch ControlError.otherVersion { Failure.otherVersion.end() } catch is ControlError { Failure.silent.end() }
  }
}
