import LatchkeyKeybag
import LatchkeySystemd
import LatchkeyVault

/// The collections and items that clients see. It finds the object of a path, and the vault that holds it. Beside the vault on the
/// disk there is one in memory, whose single collection ends with the session.
final class CollectionTree {
  /// The vault on the disk.
  let vault: Vault
  /// The collection in memory, in a vault of its own whose keys are kept nowhere.
  private(set) var sessionVault: Vault

  init(_ vault: Vault) throws(VaultError) {
    self.vault = vault
    // These items end with the program. After a restart, a path that a client has kept must not lead to another item.
    sessionVault = try Vault(inMemoryWithLabel: "Session", itemsAfter: Int64.random(in: 1 << 51..<1 << 52))
  }

  /// The path of the collection that every vault begins with, and that clients see before there is a vault.
  static let firstPlace = CollectionPlace.vault(Vault.firstCollection)

  /// Whether a name is one of that collection's.
  func isFirst(_ name: ObjectPath.CollectionName) -> Bool {
    switch name {
    case .vault(let id): id == Vault.firstCollection
    case .alias(let alias): Vault.firstAliases.contains(alias)
    case .named, .session: false
    }
  }

  /// Whether the collection exists. While there is no vault, or it cannot be read, the two names that every client knows also
  /// count as existing. Calls to them fail with the reason, instead of an error that makes clients create a collection.
  func exists(_ name: ObjectPath.CollectionName) -> Bool {
    switch name {
    case .session, .alias("session"): return true
    case .vault(let id):
      return vault.collections.ids.contains(id) || (id == Vault.firstCollection && vault.collections.ids.isEmpty)
    case .named(let name):
      if vault.collections.ids.isEmpty { return false }
      do throws(VaultError) { return try vault.collections.named(name) != nil } catch { return true }
    case .alias(let alias):
      if vault.collections.ids.isEmpty { return Vault.firstAliases.contains(alias) }
      // If that is unknown, the call reports the reason.
      do throws(VaultError) { return try vault.collections.alias(alias) != nil } catch { return true }
    }
  }

  /// The vault and number behind a name.
  func place(_ name: ObjectPath.CollectionName) throws(BusError) -> CollectionPlace {
    switch name {
    case .session, .alias("session"): return sessionPlace
    case .vault(let id): return .vault(id)
    case .named(let name):
      guard let id = try BusError.vault({ () throws(VaultError) in try vault.collections.named(name) }) else {
        throw .noSuchObject(name)
      }
      return .vault(id)
    case .alias where vault.hasNoDatabaseYet && isFirst(name): return Self.firstPlace
    case .alias(let alias):
      guard let id = try BusError.vault({ () throws(VaultError) in try vault.collections.alias(alias) }) else {
        throw .noSuchObject(alias)
      }
      return .vault(id)
    }
  }

  /// The one path by which signals and answers name a collection.
  func path(of place: CollectionPlace) -> String {
    guard case .vault(let id) = place else { return place.numberPath }
    return vault.path(ofCollection: id)
  }

  /// The one path of an item.
  func path(of item: ItemPlace) -> String { path(of: item.collection) + "/\(item.id)" }

  /// The collection at a path.
  func collection(at path: String) throws(BusError) -> CollectionPlace {
    guard case .collection(let name) = ObjectPath(path) else { throw .noSuchObject(path) }
    return try place(name)
  }

  /// The item at a path. The item is in that collection.
  func item(at path: String) throws(BusError) -> ItemPlace {
    guard case .item(let name, let id) = ObjectPath(path) else { throw .noSuchObject(path) }
    let place = try place(name)
    let (vault, collection) = holder(place)
    guard try BusError.vault({ () throws(VaultError) in try vault.reader.collection(ofItem: id) }) == collection else {
      throw .noSuchObject(path)
    }
    return ItemPlace(collection: place, id: id)
  }

  /// The vault that holds a collection, and its number there.
  func holder(_ place: CollectionPlace) -> (vault: Vault, collection: Int64) {
    switch place {
    case .vault(let id): (vault, id)
    case .session(let id): (sessionVault, id)
    }
  }

  /// Refuses requirements that no item of that collection can have.
  func checkMayRequire(_ control: AccessControl, in place: CollectionPlace) throws(BusError) {
    guard control.requiresAnything else { return }
    guard case .vault(let id) = place else { throw .notSupported(.service(.sessionItems)) }
    // Sandboxed applications read this collection through the portal, which shows no prompt for an item.
    guard id != PortalCollection.id(in: vault) else {
      throw .notSupported(.service(.portalItems))
    }
  }

  /// Every collection there is.
  var places: [CollectionPlace] {
    (vault.hasNoDatabaseYet ? [Self.firstPlace] : vault.collections.ids.map { .vault($0) }) + [sessionPlace]
  }

  /// The collection in memory.
  var sessionPlace: CollectionPlace { .session(sessionVault.collections.ids[0]) }

  /// The paths of a collection's items; empty if the path leads to no collection.
  func itemPaths(below path: String) -> [String] {
    guard case .collection(let name) = ObjectPath(path), let place = try? place(name) else { return [] }
    let (vault, collection) = holder(place)
    return ((try? vault.reader.items(in: collection)) ?? []).map { self.path(of: ItemPlace(collection: place, id: $0)) }
  }

  /// Empties the collection in memory: the session is over.
  ///
  /// - Returns: the items that the session collection had.
  func endSession() -> [ItemPlace] {
    let place = sessionPlace
    var ended: [ItemPlace] = []
    for item in (try? sessionVault.reader.items(in: sessionVault.collections.ids[0])) ?? [] {
      try? sessionVault.writer.deleteItem(item)
      ended.append(ItemPlace(collection: place, id: item))
    }
    // The numbers continue, because a path that a client still has must not lead to another item.
    if let last = try? sessionVault.reader.lastItem(),
      let fresh = try? Vault(inMemoryWithLabel: "Session", itemsAfter: last)
    {
      sessionVault = fresh
    }
    return ended
  }
}

/// An item and its place.
struct ItemPlace: Hashable {
  let collection: CollectionPlace
  let id: Int64
  /// The path with the collection's number, which reveals no label.
  var numberPath: String { collection.numberPath + "/\(id)" }
}
