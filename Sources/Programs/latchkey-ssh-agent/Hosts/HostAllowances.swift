import LatchkeySSHProtocol

/// Hosts whose forwarded requests the person allowed for a key, until the next lock. The agent offers the person this choice once
/// for each key and host.
struct HostAllowances {
  private struct Pair: Hashable {
    let key: [UInt8]
    let host: [UInt8]

    init(_ key: AgentKey, _ host: PublicKey) { (self.key, self.host) = (key.item.publicKey.blob, host.blob) }
  }

  private var offered: Set<Pair> = []
  private var allowed: Set<Pair> = []

  /// Whether a request that this host forwards needs no question to the person.
  func allow(_ key: AgentKey, from host: PublicKey) -> Bool {
    key.item.asking != .always && allowed.contains(Pair(key, host))
  }

  /// - Returns: whether to offer the person this choice. It is offered only once, and never for a key that always asks.
  mutating func offer(_ key: AgentKey, from host: PublicKey) -> Bool {
    key.item.asking != .always && offered.insert(Pair(key, host)).inserted
  }

  /// Called when the person said yes. The answer counts only if the key was not forgotten since the question.
  mutating func add(_ key: AgentKey, from host: PublicKey) {
    let pair = Pair(key, host)
    if offered.contains(pair) { allowed.insert(pair) }
  }

  /// Forgets everything about a key.
  mutating func forget(_ key: AgentKey) {
    allowed = allowed.filter { $0.key != key.item.publicKey.blob }
    offered = offered.filter { $0.key != key.item.publicKey.blob }
  }
}
