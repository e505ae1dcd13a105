import LatchkeyReasons

/// An effect to carry out, in the order given. Effects that erase keys come before all others.
public enum SessionEffect: Equatable, Sendable {
  /// Erase A, in every form that is in memory. C stays.
  case lock(LockReason)
  /// Erase all keys.
  case seal(SealReason)
  /// Erase the keys that were set aside.
  case dropStaged
  /// Place the arrived keys according to the outcome, and erase the others.
  case install(KeyOutcome)
  /// The tier key A that was set aside takes effect.
  case goLive
  /// Send `stagingTimerFired` 30 s after the keys were given. An earlier timer no longer counts.
  ///
  /// - Parameter age: the time since a finger gave the keys; zero for a password.
  case startStagingTimer(age: Duration)
  case cancelStagingTimer
  /// Send `sessionTimerFired` 60 s from now.
  case startSessionTimer
  case cancelSessionTimer
  /// C became live: units that wait for the first unlock may start.
  case firstUnlock
  /// State, locker or staged keys have changed.
  case stateChanged

  /// Whether the effect erases keys.
  public var erases: Bool {
    switch self {
    case .lock, .seal, .dropStaged: true
    default: false
    }
  }

  /// Whether the effect ends an unlock: it erases keys that were live.
  var endsUnlock: Bool {
    switch self {
    case .lock, .seal: true
    default: false
    }
  }
}

/// The fate of keys that arrived. Their holder erases keys that are not kept.
public enum KeyOutcome: Equatable, Sendable {
  /// A and C are live.
  case live
  /// C is live, and A is set aside until the locker goes.
  case staged
  /// C is live, and A is erased: the login was remote while the screen was locked, or a lock came after the password.
  case firstUnlockOnly
  /// Everything was live already.
  case notNeeded
  /// No key is kept, for this reason.
  case refused(Reason)
}
