import LatchkeyReasons

/// Keys that a finger brings back, at the locked screen or at a prompt.
extension SessionMachine {
  /// A finger at the locked screen has given all keys again. They wait until the locker at this machine goes. If that locker has
  /// let the person in since the touch, the keys open at once. They change nothing if no locker was up: a finger for another
  /// program unlocks nothing.
  ///
  /// - Parameters:
  ///   - isLetIn: whether keys that had been set aside at the touch would be live now: see ``admissions``.
  ///   - age: the time since the touch. The wait for the locker began then.
  public mutating func fingerKeysArrived(
    locksBefore: UInt64, endingsBefore: UInt64, isLetIn: Bool = false, age: Duration = .zero
  ) -> [SessionEffect] {
    if let reason = refusal(since: endingsBefore, in: nil) { return [.install(.refused(reason))] }
    switch state {
    case .unlocked: return [.install(.notNeeded)]
    case .sealed, .locked(.withoutPassword): return [.install(.refused(.session(.liftsNoLock)))]
    case .locked:
      guard locksBefore == locks else { return [.install(.refused(.session(.lockedMeanwhile)))] }
      let waits = lockerUp && isLockerHere
      guard waits || isLetIn && !lockerUp && !isLockerHere else {
        return [.install(.refused(.session(.liftsNoLock)))]
      }
      // The password says more: its keys are covered for the next lock.
      if hasStagedKeys, !isStagedByFinger { return [.install(.notNeeded)] }
      var effects: [SessionEffect] = []
      if waits { stage(&effects, isOfFinger: true, age: age) } else { becomeUnlocked(&effects, with: .install(.live)) }
      return effects + [.stateChanged]
    }
  }

  /// Whether a finger that a prompt asks for may unlock the vault: it was locked while no screen was, and the person may be at a
  /// screen of this machine, which has the reader. If the person also has a desktop at another machine, the answer is no, because
  /// nobody knows which of the two desktops shows the prompt's window.
  public var mayUnlockByFinger: Bool {
    guard case .locked(let reason) = state, reason != .withoutPassword else { return false }
    // After logind's lock, a locker that does not report itself may still cover the screen.
    return !lockerUp && !sessionsAreLocked && !isGoingToSleep && holdsForRelevant(\.isHere)
  }

  /// A finger for a prompt has given all keys again. They open at once, and never behind a locker.
  public mutating func promptsFingerKeysArrived(locksBefore: UInt64, endingsBefore: UInt64) -> [SessionEffect] {
    if let reason = refusal(since: endingsBefore, in: nil) { return [.install(.refused(reason))] }
    if state == .unlocked { return [.install(.notNeeded)] }
    guard mayUnlockByFinger else { return [.install(.refused(.session(lockerUp ? .unlockScreen : .liftsNoLock)))] }
    guard locksBefore == locks else { return [.install(.refused(.session(.lockedMeanwhile)))] }
    var effects: [SessionEffect] = []
    becomeUnlocked(&effects, with: .install(.live))
    return effects + [.stateChanged]
  }
}
