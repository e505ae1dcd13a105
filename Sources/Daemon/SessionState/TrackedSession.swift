/// A session of the vault's user, with the facts that only its past tells.
struct TrackedSession: Sendable {
  /// The number of this session among all that there were.
  let number: UInt64
  var facts: SessionFacts
  /// The session lost the foreground to a greeter, and did not get it back.
  var isShielded = false
  /// The session started behind a greeter that still exists. Such a start is a login, not a lock, and ends when the greeter goes.
  var isStarting = false
  /// Somebody asked the session to lock. A locker need not be up yet.
  var wasAskedToLock = false

  var isBehindLocker: Bool { facts.lockedHint || isShielded }
  var isLocked: Bool { isBehindLocker || wasAskedToLock }
  /// Whether the session's screen is at this machine, where the reader is.
  var isHere: Bool { !facts.isRemote && !facts.seat.isEmpty }
}
