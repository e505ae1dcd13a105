import LatchkeyPrompts
import LatchkeyReasons
import LatchkeySystemd
import LatchkeyVault

/// Hears when a grant comes or goes.
protocol GrantObserver: AnyObject {
  func grantChanged(_ item: Int64, for client: String)
}

/// The grants that persons gave to clients. A grant lets one client read or write one item, for a short time. It is for one use,
/// unless the client has asked for a time in which it may read again, and the prompt showed that time.
final class AccessGrants {
  private struct Key: Hashable {
    let item: Int64
    /// The client's unique bus name.
    let client: String
  }

  private struct Entry {
    let grant: AccessGrant
    /// The client's name in the prompt.
    let caller: Caller
    let isReusable: Bool
    /// Whether the item was read with this grant at least once. A grant for reading again allows reads only.
    var wasRead = false
    let end: EventSource?
  }

  private let loop: EventLoop
  private let queue: PromptQueue
  /// Hears of each change of a grant.
  weak var observer: (any GrantObserver)?
  private var entries: [Key: Entry] = [:] {
    didSet {
      for key in Set(oldValue.keys).symmetricDifference(entries.keys) {
        observer?.grantChanged(key.item, for: key.client)
      }
    }
  }
  /// The reason why no finger opens an item, according to the last prompt for the item.
  var fingerProblems: [Int64: Reason] = [:]
  /// The seconds for which a client wants to read again without another question.
  private var reuse: [String: UInt16] = [:]

  /// The time for which a client may use a grant.
  private static let lifetime = Duration.seconds(60)
  /// The longest time in which a client may read again without asking, in seconds.
  static let longestReuse: UInt32 = 300

  init(loop: EventLoop, queue: PromptQueue) {
    self.loop = loop
    self.queue = queue
  }

  /// Sets the time for which the client may read after each of its prompts; 0 for one use.
  func setReuse(_ seconds: UInt16, for client: String) { reuse[client] = seconds == 0 ? nil : seconds }

  /// The seconds for which the client may read again after its next prompt.
  func reuse(of client: String) -> UInt16 { reuse[client] ?? 0 }

  /// Lets `client` use the item of the grant once, or read it for `reuse` seconds.
  func add(_ grant: AccessGrant, for client: String, _ caller: Caller, reuse: UInt16) {
    let key = Key(item: grant.item, client: client)
    // If no timer can be made, there is no grant, because it would not end.
    let time = reuse == 0 ? AccessGrants.lifetime : .seconds(Int64(reuse))
    let end = try? loop.addTimer(after: time) { [weak self] in self?.entries[key] = nil }
    guard let end else { return }
    entries[key] = Entry(grant: grant, caller: caller, isReusable: reuse > 0, end: end)
  }

  /// Whether `client` may read the item now.
  func allow(_ item: Int64, for client: String) -> Bool { entries[Key(item: item, client: client)] != nil }

  /// A grant for a read. The read uses up a grant that is not reusable. The result is nil without a grant, and in the session's
  /// collection, where no item requires anything.
  func read(_ item: ItemPlace, for client: String) -> AccessGrant? {
    guard case .vault = item.collection else { return nil }
    let item = item.id
    let key = Key(item: item, client: client)
    guard let entry = entries[key] else { return nil }
    if !entry.wasRead { queue.used(.item(item, client: client), by: entry.caller) }
    if entry.isReusable { entries[key]?.wasRead = true } else { entries[key] = nil }
    return entry.grant
  }

  /// Uses up a grant for a write; nil without a grant, and in the session's collection.
  func take(_ item: ItemPlace, for client: String?) -> AccessGrant? {
    guard case .vault = item.collection, let client else { return nil }
    return take(item.id, for: client)
  }

  /// Uses up a grant for a write; nil without a grant, or if the grant is only for reading again.
  func take(_ item: Int64, for client: String) -> AccessGrant? {
    let key = Key(item: item, client: client)
    guard let entry = entries[key], !entry.wasRead else { return nil }
    entries[key] = nil
    queue.used(.item(item, client: client), by: entry.caller)
    return entry.grant
  }

  /// The item was written, or locked explicitly, so grants for its former state are worthless.
  func forget(item: Int64) { entries = entries.filter { $0.key.item != item } }

  /// Forgets a client that has left.
  func forget(client: String) {
    reuse[client] = nil
    entries = entries.filter { $0.key.client != client }
  }

  /// Removes all grants. Called when the vault is locked, because no grant survives a lock.
  func removeAll() { entries = [:] }

  /// Removes the grants for some items only.
  func removeAll(where isLocked: (Int64) -> Bool) { entries = entries.filter { !isLocked($0.key.item) } }
}
