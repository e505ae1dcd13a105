import CLatchkeyHelper
import CLatchkeyPAMModule

/// The byte that the helper answers. At a login this byte changes nothing for the caller and only chooses a log line. On a line
/// that asks for a passphrase, it decides the result.
typealias Outcome = HelperResult

extension HelperResult {
  /// nil if the byte is not a valid answer.
  init?(answer: UInt8) {
    guard helper_has_result(answer) else { return nil }
    self.init(rawValue: answer)
  }

  /// The priority of the log line. Everyday outcomes are logged only with `debug`. A wrong password is only a notice, because it is
  /// normal after an administrator changed the password.
  var priority: Int32 {
    switch self {
    case .unlocked, .unlocking, .nothingNeeded, .noDaemon, .noVault, .created, .closed: LOG_DEBUG
    case .passwordless, .sessionOpened: LOG_DEBUG
    case .wrongPassword, .goesOn: LOG_NOTICE
    case .refused, .daemonSilent, .noMemory, .homeUnavailable, .tooManyEpochs, .begun: LOG_WARNING
    case .noDeviceKey, .servicesUnbelieved, .overtaken, .late, .otherVersion: LOG_WARNING
    case .damaged, .badRequest, .internalError: LOG_ERR
    @unknown default: LOG_ERR
    }
  }

  /// The result for libpam after a question for a passphrase. Only an unlocked collection is a success.
  var passphraseResult: Int32 {
    switch self {
    case .unlocked: PAM_SUCCESS
    case .wrongPassword: PAM_AUTH_ERR
    default: PAM_AUTHINFO_UNAVAIL
    }
  }

  /// The person waits for the result of a passphrase, so every failure gets a log line.
  var passphrasePriority: Int32 { self != .unlocked && priority == LOG_DEBUG ? LOG_WARNING : priority }

  var passphraseText: Literal {
    switch self {
    case .unlocked: "passphrase accepted"
    case .wrongPassword: "that is another passphrase"
    case .refused: "latchkeyd takes no passphrase for this prompt"
    case .damaged: "the collection or backup cannot be used; see latchkey status"
    case .noMemory: "not enough memory to derive the passphrase's key"
    default: text
    }
  }

  /// Whether the vault accepts the new password, or there is no vault.
  var takesNewPassword: Bool {
    switch self {
    case .unlocked, .nothingNeeded, .noVault: true
    default: false
    }
  }

  /// Whether the result may differ when the session opens, because the home folder is mounted then, or the disk has room again.
  var mayBeOtherLater: Bool {
    switch self {
    case .noVault, .homeUnavailable: true
    default: false
    }
  }

  var changeText: Literal {
    switch self {
    case .unlocked: "the vault opens with the new password as well"
    case .nothingNeeded: "the vault needs no change"
    case .noVault: "no vault"
    case .wrongPassword: "the former password does not open the vault"
    default: text
    }
  }

  var rewrapText: Literal {
    switch self {
    case .unlocked: "the vault opens with the present password from now on"
    case .wrongPassword: "neither a former password nor the recovery code was given"
    default: text
    }
  }

  /// The priority after a request to create a vault. The person waits for the vault, so a missing vault gets a log line.
  var creationPriority: Int32 {
    switch self {
    case .noVault, .noDaemon: LOG_WARNING
    default: priority
    }
  }

  var creationText: Literal {
    switch self {
    case .noVault: "no vault created: not for this account, or no_create forbids it"
    case .created: "new vault created"
    default: text
    }
  }

  var text: Literal {
    switch self {
    case .unlocked: "vault unlocked"
    case .nothingNeeded: "vault needs no keys"
    case .noDaemon: "latchkeyd is not there yet"
    case .noVault: "no vault, and none created"
    case .created: "new vault created"
    case .wrongPassword: "the login password does not open the vault"
    case .refused: "latchkeyd does not let this service unlock the vault"
    case .damaged: "the vault's files cannot be used; see latchkey status"
    case .daemonSilent: "latchkeyd did not answer in time"
    case .noMemory: "not enough memory to derive the vault's key"
    case .homeUnavailable: "the vault's folder is not usable"
    case .badRequest: "latchkey-derive did not understand the request"
    case .internalError: "latchkey-derive failed"
    case .closed: "end of the session told"
    case .tooManyEpochs: "the vault still needs too many former keys to get new ones; see latchkey status"
    case .begun: "the vault's new keys come with the next unlock"
    case .passwordless: "the login has no password, and the vault goes by that"
    case .sessionOpened: "opened without a password: what is readable behind the locked screen"
    case .noDeviceKey: "the device key service gives this login nothing to open the vault with; see latchkey doctor"
    case .overtaken: "a login of the same moment changed the vault's keybag"
    case .late: "latchkeyd began after the password was given: unlock the vault with 'latchkey unlock'"
    case .goesOn: "this takes longer than a login waits: latchkey-derive goes on in the background"
    case .unlocking: "the vault unlocks while the session starts"
    case .otherVersion:
      "latchkeyd is of another version: 'systemctl --user restart latchkeyd && latchkey unlock' changes to the installed one"
    case .servicesUnbelieved: "not believed, as others than root could have written it: "
    @unknown default: "latchkey-derive failed"
    }
  }
}
