/// What is remembered of an authentication from its beginning until it brings keys: on a slow machine minutes pass between.
///
/// Whoever began it may have ended meanwhile, so it goes by what was seen then. What came since is later than the password:
/// a lock, and the end of the last session, win over keys that are on their way.
public struct Claim: Equatable, Sendable {
  /// Where the process stood that brought it.
  public let process: PeerProcess
  /// ``SessionMachine/locks`` at that time.
  private(set) var locks: UInt64
  /// ``SessionMachine/endings`` at that time.
  private(set) var endings: UInt64
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
  }

  /// Takes in what was heard of later, and is older.
  mutating func credit(locks: UInt64, endings: UInt64) {
    self.locks &+= locks
    self.endings &+= endings
  }
}
