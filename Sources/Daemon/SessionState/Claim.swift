import LatchkeyControl

/// A record of an authentication, from its password until it brings keys. On a slow machine, minutes pass between the two.
///
/// Its first process may have ended meanwhile, so the record has the facts of that moment. Later events win over keys that are on
/// their way: a lock, the end of the session in which the password was given, and the end of the last session.
///
/// The record begins with the hello. Events between the password and the hello are known by their times, and count in the same
/// way: ``heed(_:)``.
public struct Claim: Equatable, Sendable {
  /// The place of the process that brought the password.
  public let process: PeerProcess
  /// The time at which the password was given, in microseconds since the machine started. It is never in the future.
  public let given: UInt64
  /// ``SessionMachine/locks`` at that time.
  private(set) var locks: UInt64
  /// ``SessionMachine/endings`` at that time.
  private(set) var endings: UInt64
  /// The user's session in which the password was given, by ``SessionMachine/number(of:)``; nil without a session, as at a login.
  private(set) var session: UInt64?
  /// Whether the claim's keys may lift a lock.
  public let mayLift: Bool
  /// Whether the daemon may have missed events since the password. Keys of such a claim are refused.
  public private(set) var isLate = false

  /// Makes the claim of an authentication that begins now.
  ///
  /// - Parameter given: the time at which the password was given.
  public init(process: PeerProcess, machine: SessionMachine, mayLift: Bool = true, given: UInt64 = 0) {
    self.process = process
    self.mayLift = mayLift
    self.given = given
    locks = machine.locks
    endings = machine.endings
    session = machine.number(of: process)
  }

  /// Notes an earlier event that was heard of later.
  mutating func credit(locks: UInt64, endings: UInt64) {
    self.locks &+= locks
    self.endings &+= endings
  }

  /// Notes the session in which the password was given, if that was unknown before.
  mutating func meet(_ machine: SessionMachine) { session = session ?? machine.number(of: process) }

  /// Counts the events between the password and this record.
  mutating func heed(_ latest: LatestEvents, of machine: SessionMachine) {
    // Any number except the present number is enough.
    if isOlder(than: latest.lock) { locks &-= 1 }
    // If only PAM reports sessions, the last end may have been reported before its beginning.
    let isOver = machine.logind == .absent && machine.pamSessions == 0 && isOlder(than: latest.pamEnd)
    if isOver || isOlder(than: latest.ending) { endings &-= 1 }
  }

  /// Notes the end of the process's session, if that session has ended by now.
  mutating func heedEnd(_ latest: LatestEvents, of machine: SessionMachine) {
    guard session == nil, isOlder(than: latest.sessionEnd), process.mayBeInSession(of: machine.uid) else { return }
    session = SessionMachine.noSession
  }

  private func isOlder(than event: UInt64?) -> Bool { event.map { $0 >= given } ?? false }

  /// Notes since when the daemon has known of events.
  mutating func meet(knownSince moment: UInt64) { isLate = isLong(before: moment) }

  /// Whether the password is so much older than a moment that the events in between must be known.
  func isLong(before moment: UInt64) -> Bool { given < moment && moment - given > Hello.unknownTime }
}

/// The times of the last events that win over keys on their way, in microseconds since the machine started; nil if there was no
/// such event.
struct LatestEvents {
  /// The last lock that ``SessionMachine/locks`` counted.
  private(set) var lock: UInt64?
  /// The last end that ``SessionMachine/endings`` counted.
  private(set) var ending: UInt64?
  /// The end of any of the user's sessions.
  private(set) var sessionEnd: UInt64?
  /// The last admission, as ``SessionMachine/admissions`` counts.
  private(set) var admission: UInt64?
  /// The last rejection, as ``SessionMachine/rejections`` counts.
  private(set) var rejection: UInt64?
  /// When a PAM stack last reported the end of a session.
  var pamEnd: UInt64?

  /// Notes the changes of an event.
  mutating func note(from before: SessionMachine, to after: SessionMachine, at moment: UInt64) {
    if before.locks != after.locks { lock = moment }
    if before.endings != after.endings { ending = moment }
    if before.admissions != after.admissions { admission = moment }
    if before.rejections != after.rejections { rejection = moment }
    if !before.sessionNumbers.isSubset(of: after.sessionNumbers) { sessionEnd = moment }
  }

  /// Whether keys that had been set aside at that moment would be live now.
  func isLetIn(since moment: UInt64) -> Bool {
    guard let admission, admission >= moment else { return false }
    return rejection.map { $0 < moment } ?? true
  }
}
