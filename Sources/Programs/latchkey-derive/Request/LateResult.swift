import CLatchkeyHelper
import Glibc

/// A line for the system log about a result that no caller waited for. For other results the module writes the same lines.
enum LateResult {
  static func log(_ answer: UInt8) {
    guard helper_has_result(answer), let result = DeriveResult(rawValue: answer), let (priority, text) = line(result)
    else { return }
    openlog("latchkey-derive", LOG_PID, LOG_AUTHPRIV)
    // The text is an argument, never the format.
    withVaList([text.utf8Start]) { vsyslog(priority, "%s", $0) }
  }

  /// nil for a result without a problem, and for a session that ended or was locked meanwhile.
  private static func line(_ result: DeriveResult) -> (Int32, StaticString)? {
    switch result {
    case .wrongPassword: (LOG_NOTICE, "the login password does not open the vault")
    case .noMemory: (LOG_WARNING, "not enough memory to derive the vault's key")
    case .damaged: (LOG_ERR, "the vault's files cannot be used; see latchkey status")
    case .homeUnavailable: (LOG_WARNING, "the vault's folder is not usable")
    case .overtaken: (LOG_WARNING, "a login of the same moment changed the vault's keybag")
    case .internalError: (LOG_ERR, "latchkey-derive failed")
    case .daemonSilent: (LOG_WARNING, "latchkeyd did not answer in time")
    case .tooManyEpochs:
      (LOG_WARNING, "the vault still needs too many former keys to get new ones; see latchkey status")
    case .noDeviceKey:
      (LOG_WARNING, "the device key service gives this login nothing to open the vault with; see latchkey doctor")
    case .late:
      (LOG_WARNING, "latchkeyd began after the password was given: unlock the vault with 'latchkey unlock'")
    case .otherVersion:
      (
        LOG_WARNING,
        "latchkeyd is of another version: 'systemctl --user restart latchkeyd && latchkey unlock' changes to the installed one"
      )
    default: nil
    }
  }
}
