/// A record of an authentication, from its beginning until it brings keys. On a slow machine minutes pass between.
///
/// The process that began it may have ended meanwhile, so the record has what was seen then. Later events win over keys that
/// are on their way: a lock, the end of the session in which the password was given, and the end of the last session.
public struct Claim: Equatable, Sendable {
  /// Where the process stood that brought it.
  public let process: PeerProcess
  /// ``SessionMachine/locks`` at that time.
  private(set) var locks: UInt64
  /// ``SessionMachine/endings`` at that time.
  private(set) var endings: UInt64
  /// Which of the user's sessions it was given in, as ``SessionMachine/number(of:)`` says; nil for none, as at a login.
  private(set) var session: UInt64?
  /// Whether its keys may lift a lock.
  public let mayLift: Bool
  /// How often a collection or an item had been locked by itself at that time.
  public let ownLocks: UInt64

  /// Of an authentication that begins now.
  public init(process: PeerProcess, machine: SessionMachine, mayLift: Bool = true, ownLocks: UInt64 = 0) {
    self.process = process
    self.mayLift = mayLift
    self.ownLocks = ownLocks
    locks = machine.locks
    endings = machine.endings
    session = machine.number(of: process)
  }

  /// Takes in what was heard of later, and is older.
  mutating func credit(locks: UInt64, endings: UInt64) {
    self.locks &+= locks
    self.endings &+= endings
  }

  /// Takes in which session it was given in, where that was not heard of before.
  mutating func meet(_ machine: SessionMachine) { session = session ?? machine.number(of: process) }
}
