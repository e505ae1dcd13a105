/// One login session of any user, as logind describes it.
public struct SessionFacts: Equatable, Sendable {
  /// logind's name of the session.
  public var id: String
  /// The session's user.
  public var uid: UInt32
  /// `user`, `greeter`, `lock-screen`, `background`, `manager` …
  public var sessionClass: String
  /// `x11`, `wayland`, `mir`, `tty`, `web`, `unspecified`.
  public var type: String
  /// Whether the session is in the foreground of its seat; a session without a seat always is.
  public var isActive: Bool
  /// `opening`, `online`, `active`, `closing`.
  public var state: String
  /// Whether the session's desktop says that the screen is locked.
  public var lockedHint: Bool
  /// Whether the session came over the network.
  public var isRemote: Bool
  /// The PAM service that opened the session.
  public var service: String
  /// `seat0`, or empty.
  public var seat: String

  /// A plain local terminal, unless said otherwise.
  public init(
    id: String, uid: UInt32, sessionClass: String = "user", type: String = "tty", isActive: Bool = true,
    state: String = "active", lockedHint: Bool = false, isRemote: Bool = false, service: String = "",
    seat: String = ""
  ) {
    self.id = id
    self.uid = uid
    self.sessionClass = sessionClass
    self.type = type
    self.isActive = isActive
    self.state = state
    self.lockedHint = lockedHint
    self.isRemote = isRemote
    self.service = service
    self.seat = seat
  }

  /// Whether a person is behind the session: logind's classes `user`, `user-early`, `user-incomplete`, `user-light` …
  ///
  /// A session in state `closing` has ended; it stays in the list while one of its processes runs (Debian kills none), and that
  /// must not keep keys.
  public var isLogin: Bool { sessionClass.hasPrefix("user") && state != "closing" }

  /// Whether the session is a desktop.
  public var isGraphical: Bool { Self.isGraphical(type: type) }

  /// A display manager's own screen, in front of everybody's sessions.
  public var isGreeter: Bool { Self.isGreeter(sessionClass: sessionClass) }

  static func isGraphical(type: String) -> Bool { type == "x11" || type == "wayland" || type == "mir" }

  static func isGreeter(sessionClass: String) -> Bool { sessionClass == "greeter" || sessionClass == "lock-screen" }
}
