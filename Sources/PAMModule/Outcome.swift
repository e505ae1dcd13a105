import CPAMModule

/// The one byte by which the helper answers. It changes nothing for the caller: it is only worth a log line.
enum Outcome: UInt8 {
  case unlocked = 0
  case nothingNeeded = 1
  case noDaemon = 2
  case noVault = 3
  case founded = 4
  case wrongPassword = 5
  case refused = 6
  case damaged = 7
  case daemonSilent = 8
  case noMemory = 9
  case homeUnavailable = 10
  case badRequest = 11
  case internalError = 12
  case closed = 13

  /// Everyday outcomes are for `debug` only; a password that does not fit is normal after a change by an administrator.
  var priority: Int32 {
    switch self {
    case .unlocked, .nothingNeeded, .noDaemon, .noVault, .founded, .closed: LOG_DEBUG
    case .wrongPassword: LOG_NOTICE
    case .refused, .daemonSilent, .noMemory, .homeUnavailable: LOG_WARNING
    case .damaged, .badRequest, .internalError: LOG_ERR
    }
  }

  var text: Literal {
    switch self {
    case .unlocked: "vault unlocked"
    case .nothingNeeded: "vault needs no keys"
    case .noDaemon: "latchkeyd is not there yet"
    case .noVault: "no vault, and none founded"
    case .founded: "new vault founded"
    case .wrongPassword: "the login password does not open the vault"
    case .refused: "latchkeyd does not let this service unlock the vault"
    case .damaged: "the vault's files are damaged or newer than this version; see latchkey status"
    case .daemonSilent: "latchkeyd did not answer in time"
    case .noMemory: "not enough memory to derive the vault's key"
    case .homeUnavailable: "the vault's folder is not usable"
    case .badRequest: "latchkey-derive did not understand the request"
    case .internalError: "latchkey-derive failed"
    case .closed: "end of the session told"
    }
  }
}
