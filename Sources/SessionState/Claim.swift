/// What is remembered of an authentication from its beginning until it brings keys: on a slow machine minutes pass between.
///
/// Whoever began it may have ended meanwhile, so it goes by what was seen then. What came since is later than the password:
/// a lock, and the end of the last session, win over keys that are on their way.
public struct Claim: Equatable, Sendable {
  /// Where the process stood that brought it.
  public let process: PeerProcess
  /// ``SessionMachine/locks`` at that time.
  let locks: UInt64
  /// ``SessionMachine/endings`` at that time.
  let endings: UInt64

  /// Of an authentication that begins now.
  public init(process: PeerProcess, machine: SessionMachine) {
    self.process = process
    locks = machine.locks
    endings = machine.endings
  }
}
