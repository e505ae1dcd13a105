import LatchkeyBytes
import LatchkeyReasons

/// A helper's first message, which describes the authentication. The helper sends it before it begins the slow work on a password.
public struct Hello: ControlMessage, Equatable {
  package typealias Answer = Need
  package static let operation: UInt8 = 1

  /// The point of a login at which the PAM module was called. The daemon's rules use it too.
  public enum Stage: UInt8, Sendable {
    /// `pam_sm_authenticate`: the first half of a login, or the only call of a locker.
    case authenticate = 1
    /// `pam_sm_open_session`: the whole stack has accepted the login.
    case openSession = 2
    /// `pam_sm_close_session`.
    case closeSession = 3
  }

  /// The longest text, in bytes. A longer text is cut. It is then not the name of any known service.
  static let textLimit = 255

  /// The point of a login.
  public let stage: Stage
  /// PAM's service, such as "login" or "i3lock".
  public let service: String
  /// PAM's terminal; empty if there is none.
  public let tty: String
  /// PAM's remote host; empty for a login on this machine.
  public let remoteHost: String
  /// The number of the prompt that this authentication answers; 0 if there is none.
  public let prompt: UInt64
  /// The moment at which the person gave the password, or the session began, in microseconds since the machine started. For the
  /// daemon, a moment in the future counts as the present moment. 0 is older than every event.
  public let given: UInt64

  /// The longest time from a password to a daemon's start, in microseconds. The daemon does not know of locks and ends of sessions
  /// before its start. Within this time, it assumes that they were before the password.
  public static let unknownTime: UInt64 = 10_000_000

  /// Makes a value from its parts.
  public init(
    stage: Stage, service: String, tty: String, remoteHost: String, prompt: UInt64 = 0, given: UInt64 = 0
  ) {
    self.stage = stage
    self.service = service
    self.tty = tty
    self.remoteHost = remoteHost
    self.prompt = prompt
    self.given = given
  }

  package func encode(into out: inout ByteWriter) {
    out.number(stage.rawValue)
    for text in [service, tty, remoteHost] { out.text(text, limit: Hello.textLimit) }
    out.number(prompt)
    out.number(given)
  }

  package init?(decoding input: inout ByteReader) {
    guard let raw = try? input.number(UInt8.self), let stage = Stage(rawValue: raw),
      let service = input.text(limit: Hello.textLimit), let tty = input.text(limit: Hello.textLimit),
      let remoteHost = input.text(limit: Hello.textLimit), let prompt = try? input.number(UInt64.self),
      let given = try? input.number(UInt64.self)
    else { return nil }
    self.init(stage: stage, service: service, tty: tty, remoteHost: remoteHost, prompt: prompt, given: given)
  }
}

/// The daemon's answer to a ``Hello``.
public enum Need: ControlFields, Equatable, Sendable {
  /// No keys are needed, so the helper does not work on the password.
  case nothing
  /// The tier keys are needed.
  case keys
  /// This authentication may not change anything now, for this reason.
  case refused(Reason)
  /// The daemon does not know which locks there were since the person gave the password.
  case late

  package init?(decoding input: inout ByteReader) {
    switch try? input.number(UInt8.self) {
    case 0: self = .nothing
    case 1: self = .keys
    case 2:
      guard let reason = Reason(decoding: &input) else { return nil }
      self = .refused(reason)
    case 3: self = .late
    default: return nil
    }
  }

  package func encode(into out: inout ByteWriter) {
    let (code, reason): (UInt8, Reason?) =
      switch self {
      case .nothing: (0, nil)
      case .keys: (1, nil)
      case .refused(let reason): (2, reason)
      case .late: (3, nil)
      }
    out.number(code)
    reason?.encode(into: &out)
  }
}
