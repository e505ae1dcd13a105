import LatchkeyReasons

/// An effect to carry out, in the order given. Effects that erase keys come before all others.
public enum SessionEffect: Equatable, Sendable {
  /// Erase A, in every form it has in memory. C stays.
  case lock(LockReason)
  /// Erase all keys.
  case seal(SealReason)
  /// Erase the keys that were set aside.
  case dropStaged
  /// Put the keys that arrived where the outcome says, and erase the rest of them.
  case install(KeyOutcome)
  /// The A that was set aside becomes live.
  case goLive
  /// Send `stagingTimerFired` 30 s from now, counted anew.
  case startStagingTimer
  case cancelStagingTimer
  /// Send `sessionTimerFired` 60 s from now.
  case startSessionTimer
  case cancelSessionTimer
  /// C became live: units that wait for the first unlock may start.
  case firstUnlock
  /// State, locker or staged keys are others than before.
  case stateChanged

  /// Whether keys are erased by it.
  public var erases: Bool {
    switch self {
    case .lock, .seal, .dropStaged: true
    default: false
    }
  }
}

/// The fate of keys that arrived. Their holder erases keys that are not kept.
public enum KeyOutcome: Equatable, Sendable {
  /// A and C are live.
  case live
  /// C is live, A is set aside until the locker goes.
  case staged
  /// C is live, A is erased: a remote login unseals behind a locked screen, or a lock came after the password.
  case firstUnlockOnly
  /// All was live already.
  case notNeeded
  /// Nothing is kept, for the reason given.
  case refused(Reason)
}
