import LatchkeyReasons

/// Why the keys of the unlocked state were erased.
public enum LockReason: Equatable, Sendable, CustomStringConvertible {
  /// logind's LockedHint: the desktop says that its screen is locked.
  case lockedHint
  /// logind's Lock signal: somebody asked for the session to be locked (`loginctl lock-session`).
  case lockSignal
  /// A screen saver said ActiveChanged(true).
  case screenSaver
  /// The graphical session is inactive, and a greeter is in front of it.
  case greeter
  /// The last unlocked graphical session ended, and other sessions of the user still exist.
  case sessionEnded
  /// The machine goes to sleep.
  case sleep
  /// `latchkey lock`.
  case command
  /// The login had no password, so A was never in memory.
  case withoutPassword

  /// The reason, for `latchkey status`.
  public var reason: SessionReason {
    switch self {
    case .lockedHint: .lockedHint
    case .lockSignal: .lockSignal
    case .screenSaver: .screenSaver
    case .greeter: .greeter
    case .sessionEnded: .graphicalSessionEnded
    case .sleep: .sleep
    case .command: .command
    case .withoutPassword: .loginWithoutPassword
    }
  }

  /// The reason in English, for the log.
  public var description: String { Reason.session(reason).text }
}

/// The reason why there are no keys at all.
public enum SealReason: Equatable, Sendable, CustomStringConvertible {
  /// Nobody logged in since the daemon started.
  case started
  /// The last of the user's sessions that count has ended.
  case sessionsEnded
  /// A password gave keys, but no session followed.
  case noSession
  /// The vault's files cannot be used.
  case keysFailed
  /// Memory is about to be written to disk.
  case hibernation
  /// `latchkey start-empty`.
  case putAside

  /// The reason, for `latchkey status`.
  public var reason: SessionReason {
    switch self {
    case .started: .notUnlockedYet
    case .sessionsEnded: .lastSessionEnded
    case .noSession: .noSessionAfterLogin
    case .keysFailed: .filesUnusable
    case .hibernation: .hibernation
    case .putAside: .putAside
    }
  }

  /// The reason in English, for the log.
  public var description: String { Reason.session(reason).text }
}
