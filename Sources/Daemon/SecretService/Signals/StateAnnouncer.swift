import LatchkeySystemd
import LatchkeyVault

/// When the vault got or lost keys, tells clients which collections, and which of the items that they have read, are locked or
/// unlocked. The labels of these items may be readable now.
final class StateAnnouncer {
  private let bus: Bus
  private let tree: CollectionTree
  private let locks: LockStates
  private let signals: Signals
  private let clients: Clients
  private var vault: Vault { tree.vault }
  /// The lock state of each collection that was announced last.
  private var announcedLocks: [CollectionPlace: Bool] = [:]
  /// The properties that clients know, the idle work that announces changes, and the number of announcements since the keys last
  /// changed.
  private var known = KnownItems()
  private var announcement: EventSource?
  private var toldItems = 0

  /// The number of items that are checked in one idle turn. A lock waits for no more than these.
  private static let lookedAtOnce = 16
  /// The most items of one change of state for which `ItemChanged` is sent as well: libsecret reads the item again at each signal,
  /// and `PropertiesChanged` saves that work.
  private static let toldTwice = 256
  /// The most items of a restore that are announced one by one.
  private static let toldOneByOne = 256

  init(
    _ bus: Bus, loop: EventLoop, tree: CollectionTree, locks: LockStates, signals: Signals, clients: Clients
  ) throws(SystemdError) {
    self.bus = bus
    self.tree = tree
    self.locks = locks
    self.signals = signals
    self.clients = clients
    announcement = try loop.addIdle { [unowned self] in announceItems() }
  }

  /// The bus is lost.
  func disconnect() { (announcement, known) = (nil, KnownItems()) }

  /// Forgets a client that has left.
  func forget(client: String) { known.forget(client: client) }

  // MARK: - collections

  /// Begins to tell clients, after the vault got or lost keys. They hear of collections at once. Their items are checked again in
  /// idle turns, when a lock has already erased its keys.
  func stateChanged() {
    signals.pathsChanged()
    for place in tree.places {
      guard let locked = try? locks.isLocked(place), announcedLocks[place] != locked else { continue }
      announcedLocks[place] = locked
      signals.collectionChanged(place, properties: ["Locked"])
    }
    toldItems = 0
    known.doubtAll()
    announcement?.resume()
  }

  /// Tells programs which items a restore brought. If there are very many, it only says that there are new items.
  func restored(_ changes: Restore.Changes) {
    for id in changes.collections {
      announcedLocks[.vault(id)] = try? locks.isLocked(.vault(id))
      signals.collectionAdded(.vault(id))
    }
    guard changes.added.count + changes.replaced.count <= Self.toldOneByOne else {
      for id in Set((changes.added + changes.replaced).map(\.collection)) { signals.collectionChanged(.vault(id)) }
      return
    }
    for (collection, item) in changes.added {
      signals.itemCreated(ItemPlace(collection: .vault(collection), id: item))
    }
    for (collection, item) in changes.replaced {
      signals.itemChanged(
        ItemPlace(collection: .vault(collection), id: item), properties: ["Label", "Attributes", "Modified"])
    }
  }

  // MARK: - items

  /// A client reads an item's properties.
  func note(_ info: ItemInfo, of item: ItemPlace, isLocked: Bool, by client: String) {
    // The session's items are never locked.
    guard case .vault = item.collection else { return }
    clients.watch(client)
    known.note(.init(isLocked: isLocked, hasMetadata: info.metadata != nil), of: item.id, by: client)
  }

  /// - Returns: whether there is more to look at.
  private func announceItems() -> Bool {
    for _ in 0..<Self.lookedAtOnce {
      guard let (item, client) = known.takeDoubt() else { return false }
      tell(item, to: client)
    }
    return true
  }

  /// Tells a client before the present answer, because libsecret reads the secrets only of items that it believes unlocked.
  func tell(_ paths: [String], to client: String) {
    for path in paths {
      if case .item(_, let item) = ObjectPath(path) { tell(item, to: client) }
    }
  }

  /// Tells a client the state of a search's results before the answer.
  func tell(found: [ItemSearch.Found], to client: String) {
    // Very many items are told in idle turns instead.
    guard known.hasDoubts(client), found.count <= Self.toldTwice else { return }
    tell(found.map(\.path), to: client)
  }

  /// Tells a client the changes of an item since the client's last news.
  func tell(_ item: Int64, to client: String) {
    guard let before = known.knowledge(of: item, by: client) else { return }
    guard let readability = try? vault.reader.readability(ofItem: item) else { return known.forget(item, by: client) }
    let isLocked = !locks.mayRead(item, readability, for: client)
    // The announced state stays true while nobody may change it.
    let info = before.hasMetadata ? nil : try? vault.reader.info(ofItem: item)
    let appeared = info?.metadata
    guard isLocked != before.isLocked || appeared != nil else { return }
    guard let collection = try? vault.reader.collection(ofItem: item) else { return known.forget(item, by: client) }
    known.note(.init(isLocked: isLocked, hasMetadata: before.hasMetadata || appeared != nil), of: item, by: client)
    let home = vault.path(ofCollection: collection)
    let path = "\(home)/\(item)"
    // Sent to this client alone, because other clients do not have its grants.
    try? bus.emitSignal(
      path: path, interface: Bus.properties, member: "PropertiesChanged",
      to: client
    ) { out in
      out.appendString(ItemObject.name)
      out.open("a", "{sv}")
      out.appendProperty("Locked", "b") { $0.appendBool(isLocked) }
      if let appeared {
        out.appendProperty("Label", "s") { $0.appendString(appeared.label) }
        out.appendProperty("Attributes", "a{ss}") { $0.appendStringDictionary(appeared.attributes) }
      }
      out.close()
      out.open("a", "s")
      out.close()
    }
    toldItems += 1
    guard toldItems <= Self.toldTwice else { return }
    try? bus.emitSignal(
      path: home, interface: CollectionObject.name, member: "ItemChanged", to: client
    ) { $0.appendObjectPath(path) }
  }
}

extension StateAnnouncer: GrantObserver {
  /// The item may be locked or unlocked for this client now.
  func grantChanged(_ item: Int64, for client: String) {
    known.doubt(item, by: client)
    announcement?.resume()
  }
}
