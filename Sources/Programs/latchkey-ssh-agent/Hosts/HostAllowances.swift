import LatchkeySSHProtocol

/// Hosts whose forwarded requests the person allowed for a key, until the next lock. Such a host is offered once for each key.
struct HostAllowances {
  private struct Pair: Hashable {
    let key: [UInt8]
    let host: [UInt8]

    init(_ key: AgentKey, _ host: PublicKey) { (self.key, self.host) = (key.item.publicKey.blob, host.blob) }
  }

  private var offered: Set<Pair> = []
  private var allowed: Set<Pair> = []

  /// Whether the person need not be asked about a request that this host forwards.
  func allow(_ key: AgentKey, from host: PublicKey) -> Bool {
    key.item.asking != .always && allowed.contains(Pair(key, host))
  }

  /// - Returns: whether to ask the person about the host: only once, and not for a key that always asks.
  mutating func offer(_ key: AgentKey, from host: PublicKey) -> Bool {
    key.item.asking != .always && offered.insert(Pair(key, host)).inserted
  }

  /// The person said yes. The answer counts only if the key was not forgotten since the offer.
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
