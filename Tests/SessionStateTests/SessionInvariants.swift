@testable import LatchkeySessionState

/// The rules that must always hold. Each one checks a step, and returns the fault or nil.
enum SessionInvariant: CaseIterable, Sendable {
  case keysFollowTheState
  case nothingIsOpenWhileLocked
  case aLockErases
  case aLockWinsOverKeysInFlight
  case theSessionsEndWinsOverKeysInFlight
  case theSessionBusBringsNoKeys
  case onlyAPersonLetsIn
  case suspendErases
  case erasingComesFirst
  case timersRunWhenNeeded
  case thePasswordUnlocks

  /// Whether the rule depends only on the situation, and not on the step before it.
  var looksAtSituationsOnly: Bool { self == .thePasswordUnlocks }

  func violation(by step: Transition) -> String? {
    let (before, after) = (step.before, step.after)
    switch self {
    case .keysFollowTheState: return Self.keysFollowTheState(step)
    case .nothingIsOpenWhileLocked:
      // A login without a password cannot be locked.
      guard after.isLocked, !after.isPasswordless else { return nil }
      if after.keys.a { return "A is live while a source says that it is locked" }
      return nil
    case .aLockErases:
      guard step.locks, !after.isPasswordless else { return nil }
      return after.keys.a || after.keys.staged ? "A outlives a lock" : nil
    case .aLockWinsOverKeysInFlight:
      guard step.step == .keysArrive, before.inFlight?.isOvertaken ?? false, !after.isPasswordless else { return nil }
      let isMore = (after.keys.a && !before.keys.a) || (after.keys.staged && !before.keys.staged)
      return isMore ? "keys from before a lock came alive" : nil
    case .theSessionsEndWinsOverKeysInFlight:
      guard step.step == .keysArrive, before.inFlight?.hasEnded ?? false else { return nil }
      return after.keys != before.keys ? "keys outlived the session that they were given in, or the last one" : nil
    case .theSessionBusBringsNoKeys:
      guard step.step.isOfSessionBus else { return nil }
      if after.keys.c && !before.keys.c || after.keys.staged && !before.keys.staged {
        return "the session bus brought keys"
      }
      if after.keys.a && !before.keys.a && !before.keys.staged { return "A came alive with no password before" }
      if after.keys.a && !before.keys.a && before.screenSavers.isEmpty {
        return "keys went live by a saver that was not up"
      }
      return nil
    case .onlyAPersonLetsIn:
      guard after.keys.a && !before.keys.a else { return nil }
      switch step.step {
      case .keysArrive, .screenSaver(_, active: false), .session(_, .open), .front(.session), .passwordless(true):
        return nil
      // Nobody gave a password if a locker crashed or a desktop ended.
      default: return "A came alive though nobody was let in"
      }
    case .suspendErases:
      guard after.isGoingToSleep || step.step == .hibernate, !after.isPasswordless else { return nil }
      if after.keys.a || after.keys.staged { return "A sleeps in memory" }
      return step.step == .hibernate && after.keys.c ? "C goes into the image on disk" : nil
    case .erasingComesFirst:
      let firstOther = step.effects.firstIndex { !$0.erases } ?? step.effects.endIndex
      return step.effects[firstOther...].contains { $0.erases } ? "something is done before keys are erased" : nil
    case .timersRunWhenNeeded: return Self.timersRunWhenNeeded(step)
    case .thePasswordUnlocks: return Self.thePasswordUnlocks(after)
    }
  }

  private static func keysFollowTheState(_ step: Transition) -> String? {
    let (machine, keys) = (step.after.machine, step.after.keys)
    if machine.hasStagedKeys != keys.staged { return "the machine is wrong about staged keys" }
    if keys.staged && !machine.lockerUp { return "keys are set aside for no locker" }
    if machine.isPasswordless != step.after.isPasswordless { return "the machine is wrong about the password" }
    let expected: (a: Bool, c: Bool)
    switch machine.state {
    case .sealed: expected = (false, false)
    case .unlocked: expected = (true, true)
    case .locked: expected = (false, true)
    }
    if expected != (keys.a, keys.c) { return "the state is \(machine.state), the keys are \(keys)" }
    let opens = step.before.machine.state == .sealed && machine.state != .sealed
    if step.effects.contains(.firstUnlock) != opens { return "the first unlock is told at the wrong time" }
    let changes =
      step.before.machine.state != machine.state || step.before.keys.staged != keys.staged
      || step.before.machine.lockerUp != machine.lockerUp
    return changes && !step.effects.contains(.stateChanged) ? "a change is not told" : nil
  }

  private static func timersRunWhenNeeded(_ step: Transition) -> String? {
    let after = step.after
    if after.stagingTimer != after.keys.staged { return "the timer of staged keys runs without them, or not with them" }
    if after.sessionTimer != after.machine.awaitsSession { return "the session timer is not as the machine thinks" }
    let hasKeys = after.keys.a || after.keys.c
    if after.sessionTimer && !hasKeys { return "a session is awaited without keys" }
    if after.sessionTimer && !after.present.isEmpty && after.logindWasHeard {
      return "a session that is there is awaited"
    }
    let isAlone = after.machine.logind == .present && after.present.isEmpty && !after.isPasswordless
    if isAlone && hasKeys && !after.sessionTimer { return "keys stay without a session" }
    return nil
  }

  /// The person comes back, and wakes the machine. Then the person gives the password to a locker, which unlocks the screen, or to
  /// a prompt if there is no locker.
  private static func thePasswordUnlocks(_ situation: Situation) -> String? {
    var behind = situation
    if behind.isGoingToSleep { _ = behind.take(.sleep(false)) }
    var afterwards = behind
    // The keys come before the locker ends.
    behind.giveKeys()
    behind.dismissLockers()
    if behind.machine.state != .unlocked || !behind.keys.a { return "the password at the locker does not unlock" }
    // The locker may also end in another way, such as by a finger.
    afterwards.dismissLockers()
    afterwards.giveKeys()
    if afterwards.machine.state != .unlocked || !afterwards.keys.a { return "the password at a prompt does not unlock" }
    // A greeter may also take the password. It starts a desktop behind itself and then shows the desktop.
    var login = situation
    guard login.universe.hasGreeter, login.front == .greeter, login.desktops.isEmpty, !login.isLocked else {
      return nil
    }
    login.giveKeys()
    _ = login.take(.session(1, .open))
    _ = login.take(.sessionsToldAgain)
    _ = login.take(.front(.session(1)))
    return login.machine.state == .unlocked && login.keys.a ? nil : "the password at a greeter does not unlock"
  }
}

extension Situation {
  /// The right password, from a service that may lift a lock.
  fileprivate mutating func giveKeys() {
    inFlight = nil
    _ = take(.keysSetOut(mayLift: true))
    _ = take(.keysArrive)
  }

  fileprivate mutating func dismissLockers() {
    let isUp = screenSavers
    for saver in isUp { _ = take(.screenSaver(saver, active: false)) }
    guard universe.hasLogind else { return }
    for session in present where screens[session - 1] == .locked { _ = take(.session(session, .open)) }
    if let session = behindGreeter.min() { _ = take(.front(.session(session))) }
  }
}

/// A fault of the daemon or the machine. It shows that each invariant detects a fault.
enum Fault: Sendable {
  case sleepErasesNothing
  case screenSaversEraseNothing
  case signalsEraseNothing
  case locksAreNotCounted
  case endingsAreNotCounted
  case sessionsAreNotTold
  case somethingBeforeErasing
  case timersAreForgotten
  case aScreenSaverThatEndsUnlocks
  case aScreenSaverThatCrashesUnlocks
  case stagedKeysAreLost
  case hibernationKeepsC

  func alter(_ effects: [SessionEffect], of step: Step) -> [SessionEffect] {
    switch (self, step) {
    case (.sleepErasesNothing, .sleep(true)), (.screenSaversEraseNothing, .screenSaver(_, active: true)),
      (.signalsEraseNothing, .lockSignal), (.signalsEraseNothing, .lockCommand):
      effects.filter { !$0.erases }
    case (.somethingBeforeErasing, _): effects.filter { !$0.erases } + effects.filter { $0.erases }
    case (.timersAreForgotten, _): effects.filter { $0 != .startStagingTimer(age: .zero) && $0 != .startSessionTimer }
    case (.aScreenSaverThatEndsUnlocks, .screenSaver(_, active: false)): effects + [.install(.live)]
    case (.aScreenSaverThatCrashesUnlocks, .screenSaverVanished):
      effects.map { $0 == .dropStaged ? .goLive : $0 }
    case (.stagedKeysAreLost, _): effects.filter { $0 != .goLive }
    case (.hibernationKeepsC, .hibernate): effects.map { $0 == .seal(.hibernation) ? .lock(.sleep) : $0 }
    default: effects
    }
  }
}
