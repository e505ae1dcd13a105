import Prompts
import Systemd
import Vault

/// What clients may read because a person answered for it: each grant is one client's, for one item, for one use, and not
/// for long.
final class AccessGrants {
  private struct Key: Hashable {
    let item: Int64
    /// The client's unique bus name.
    let client: String
  }

  private struct Entry {
    let grant: AccessGrant
    /// The client, as it was named to the person.
    let caller: Caller
    let end: EventSource?
  }

  private let loop: EventLoop
  /// Told when a client uses a grant.
  private let used: (Question, Caller) -> Void
  private var entries: [Key: Entry] = [:]

  /// How long a client has to use what it asked for.
  private static let lifetime = Duration.seconds(60)

  init(loop: EventLoop, used: @escaping (Question, Caller) -> Void) {
    self.loop = loop
    self.used = used
  }

  /// Lets `client` read the item of the grant once.
  func add(_ grant: AccessGrant, for client: String, _ caller: Caller) {
    let key = Key(item: grant.item, client: client)
    // Without a timer there is no grant: it would have no end.
    let end = try? loop.addTimer(after: AccessGrants.lifetime) { [weak self] in self?.entries[key] = nil }
    guard let end else { return }
    entries[key] = Entry(grant: grant, caller: caller, end: end)
  }

  /// Whether `client` may read the item now.
  func allow(_ item: Int64, for client: String) -> Bool { entries[Key(item: item, client: client)] != nil }

  /// Uses a grant up; nil where there is none.
  func take(_ item: Int64, for client: String) -> AccessGrant? {
    guard let entry = entries.removeValue(forKey: Key(item: item, client: client)) else { return nil }
    used(.item(item, client: client), entry.caller)
    return entry.grant
  }

  /// The client is gone.
  func forget(client: String) { entries = entries.filter { $0.key.client != client } }

  /// The vault was locked: no grant outlives that.
  func removeAll() { entries = [:] }
}
