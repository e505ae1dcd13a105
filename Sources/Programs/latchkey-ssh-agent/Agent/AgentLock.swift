import LatchkeySodium

/// The lock of the agent protocol, with a passphrase that a client chose. It is independent of the vault's lock.
struct AgentLock: ~Copyable {
  private let key: Key
  private var tag: [UInt8]?
  /// The number of wrong passphrases since the last right one.
  private(set) var failures = 0

  init() throws(SodiumError) { key = try Key.random() }

  var isLocked: Bool { tag != nil }

  private func tag(of passphrase: RawSpan) throws(SodiumError) -> [UInt8] {
    var hash = try KeyedHash(key: key)
    hash.update(passphrase)
    return hash.tag()
  }

  /// - Returns: whether the agent was unlocked before, and is now locked.
  mutating func lock(_ passphrase: RawSpan) -> Bool {
    guard tag == nil, let new = try? tag(of: passphrase) else { return false }
    tag = new
    failures = 0
    return true
  }

  /// - Returns: whether the agent was locked with this passphrase.
  mutating func unlock(_ passphrase: RawSpan) -> Bool {
    guard let known = tag, let given = try? tag(of: passphrase), Sodium.equal(known, given) else {
      failures = min(failures + 1, 100)
      return false
    }
    tag = nil
    failures = 0
    return true
  }
}
