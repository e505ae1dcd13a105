import LatchkeyBytes
import LatchkeyReasons

/// A helper's first message, before it spends any time: it describes the authentication.
public struct Hello: ControlMessage, Equatable {
  package typealias Answer = Need
  package static let operation: UInt8 = 1

  /// The point of a login at which the module was called, for the daemon's rules as well.
  public enum Stage: UInt8, Sendable {
    /// `pam_sm_authenticate`: a login's first half, or a locker's only one.
    case authenticate = 1
    /// `pam_sm_open_session`: the whole stack has accepted the login.
    case openSession = 2
    /// `pam_sm_close_session`.
    case closeSession = 3
  }

  /// The longest text, in bytes. A longer one is cut, and is then the name of no service.
  static let textLimit = 255

  /// The point of a login.
  public let stage: Stage
  /// PAM's service: "login", "i3lock".
  public let service: String
  /// PAM's terminal; empty without one.
  public let tty: String
  /// PAM's remote host; empty for a login on this machine.
  public let remoteHost: String
  /// The number of the prompt that this answers; 0 for none.
  public let prompt: UInt64
  /// When the password was given, or the session began, in microseconds since the machine started. The daemon takes a moment in
  /// the future as the present one. 0 is the oldest moment: every event is later.
  public let given: UInt64

  /// How much later than the password a daemon may begin to follow locks and ends of sessions, in microseconds. It counts
  /// events in between as older than the password.
  public static let unknownTime: UInt64 = 10_000_000

  /// Puts them together.
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
  /// No keys are needed, so the helper need not work on the password.
  case nothing
  /// The tier keys.
  case keys
  /// This authentication may not change anything now; the reason says why.
  case refused(Reason)
  /// The daemon does not know what happened since the password was given.
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
