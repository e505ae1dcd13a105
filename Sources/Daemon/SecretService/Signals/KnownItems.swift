/// The properties of items that clients have read, so that each client hears of changes.
///
/// Programs with libsecret read an item's properties once and keep them as long as they run, so an item that was locked then would
/// stay locked. If a client read very many items, only the latest ones are remembered.
struct KnownItems {
  /// The properties that a client was told last.
  struct Knowledge: Equatable {
    var isLocked: Bool
    /// Whether label and attributes were known.
    var hasMetadata: Bool
  }

  /// The items of one client in two halves, and the items that may have changed by now.
  private struct Client {
    var newer: [Int64: Knowledge] = [:]
    var older: [Int64: Knowledge] = [:]
    var doubted: [Int64] = []
    var count: Int { newer.count + older.count }
  }

  private var clients: [String: Client] = [:]
  /// The clients with items that may have changed, in the order in which they are checked. A client that has left may still be in
  /// the list.
  private var turns: [String] = []
  /// The number of items of all clients that are remembered.
  private(set) var count = 0

  /// The number of items of one client that are remembered in any case. Up to twice as many may be remembered.
  private let half: Int
  /// The limit over all clients. Beyond it, the client with the most items loses its older half.
  private let limit: Int

  init(half: Int = 2048, limit: Int = 65_536) {
    self.half = half
    self.limit = limit
  }

  /// The properties that the client knows; nil for an item that the client never read, or read too long ago.
  func knowledge(of item: Int64, by client: String) -> Knowledge? {
    clients[client].flatMap { $0.newer[item] ?? $0.older[item] }
  }

  /// Notes the properties that the client was told.
  mutating func note(_ knowledge: Knowledge, of item: Int64, by client: String) {
    var known = clients.removeValue(forKey: client) ?? Client()
    count -= known.count
    known.older[item] = nil
    known.newer[item] = knowledge
    if known.newer.count >= half { (known.older, known.newer) = (known.newer, [:]) }
    count += known.count
    clients[client] = known
    while count > limit, let most = clients.max(by: { $0.value.count < $1.value.count })?.key { shrink(most) }
  }

  private mutating func shrink(_ client: String) {
    guard var known = clients.removeValue(forKey: client) else { return }
    count -= known.count
    (known.older, known.newer) = known.older.isEmpty ? ([:], [:]) : ([:], known.newer)
    count += known.count
    if known.count > 0 { clients[client] = known }
  }

  /// Forgets a client that has left.
  mutating func forget(client: String) {
    count -= clients.removeValue(forKey: client)?.count ?? 0
  }

  /// Forgets an item that no longer exists, at least for this client.
  mutating func forget(_ item: Int64, by client: String) {
    guard var known = clients.removeValue(forKey: client) else { return }
    count -= known.count
    (known.newer[item], known.older[item]) = (nil, nil)
    count += known.count
    if known.count > 0 { clients[client] = known }
  }

  // MARK: - what may be different

  /// Doubts all items, because the vault got or lost keys. Items that wait for a check keep their place, so that repeated changes
  /// cannot delay a client for ever.
  mutating func doubtAll() {
    for (client, known) in clients {
      let present = Set(known.doubted)
      let items = Array(known.older.keys) + known.newer.keys
      // The last doubted item is taken first.
      let doubted = items.filter { !present.contains($0) } + known.doubted
      if known.doubted.isEmpty && !doubted.isEmpty { turns.append(client) }
      clients[client]?.doubted = doubted
    }
  }

  /// The item may have changed for this client.
  mutating func doubt(_ item: Int64, by client: String) {
    guard knowledge(of: item, by: client) != nil else { return }
    if !hasDoubts(client) { turns.append(client) }
    clients[client]?.doubted.append(item)
  }

  /// Whether an item that the client knows may have changed.
  func hasDoubts(_ client: String) -> Bool { clients[client]?.doubted.isEmpty == false }

  /// Takes one item to check again, from each client in turn; nil if there is no such item.
  mutating func takeDoubt() -> (item: Int64, client: String)? {
    while !turns.isEmpty {
      let client = turns.removeFirst()
      while let item = clients[client]?.doubted.popLast() {
        guard knowledge(of: item, by: client) != nil else { continue }
        if hasDoubts(client) { turns.append(client) }
        return (item, client)
      }
    }
    return nil
  }
}
