/// A session of the vault's user, with the facts that only its past tells.
struct TrackedSession: Sendable {
  /// The number of this session among all that there were.
  let number: UInt64
  var facts: SessionFacts
  /// The session lost the foreground to a greeter, and did not get it back.
  var isShielded = false
  /// The session started behind a greeter that still exists. Such a session is at its login, and not locked, until the greeter
  /// goes.
  var isStarting = false
  /// Whether somebody asked the session to lock. A locker may not cover the screen yet.
  var wasAskedToLock = false

  var isBehindLocker: Bool { facts.lockedHint || isShielded }
  var isLocked: Bool { isBehindLocker || wasAskedToLock }
  /// Whether the session's screen is at this machine, like the fingerprint reader.
  var isHere: Bool { !facts.isRemote && !facts.seat.isEmpty }
}
