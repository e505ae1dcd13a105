import LatchkeySystemd
import LatchkeyVault

/// The lock state that clients see. It depends on the keys that the vault has now.
final class LockStates {
  /// The state of a path that a client wants to unlock.
  enum State {
    case unlocked
    case locked
    case absent
  }

  private let tree: CollectionTree
  private let grants: AccessGrants
  private unowned let delegate: any SecretServiceDelegate
  private var vault: Vault { tree.vault }

  init(_ tree: CollectionTree, grants: AccessGrants, delegate: any SecretServiceDelegate) {
    self.tree = tree
    self.grants = grants
    self.delegate = delegate
  }

  /// Whether a locker is on the screen.
  var isScreenLocked: Bool { delegate.isLockerUp }

  /// Looks at the vault's files again, if it has no database.
  func lookAgain() { delegate.lookAgain() }

  /// Whether the files now show that there is no vault. Without a vault there are no items, so an empty result of a search is
  /// right.
  var isVaultMissing: Bool {
    guard !vault.hasDatabase else { return false }
    delegate.lookAgain()
    return vault.isMissing
  }

  /// Whether no password creates the vault, because the disk is full.
  var lacksRoom: Bool { vault.lacksRoom }

  /// Whether clients see a collection as locked. Behind a locker nobody could answer a prompt. So a collection that only the
  /// screen lock locks counts as unlocked, and each item says for itself whether it can be read.
  func isLocked(_ place: CollectionPlace) throws(BusError) -> Bool {
    if place == CollectionTree.firstPlace && vault.hasNoDatabaseYet { return true }
    let (vault, collection) = tree.holder(place)
    return switch try BusError.vault({ () throws(VaultError) in try vault.collections.state(of: collection) }) {
    case .sealed, .lockedExplicitly, .needsPassphrase: true
    case .locked: !delegate.isLockerUp
    case .unlocked: false
    }
  }

  /// Whether a client may read an item now. An item with requirements can be read only after a person answered for that client.
  func mayRead(_ item: Int64, _ readability: Readability, for client: String) -> Bool {
    switch readability {
    case .locked: false
    case .guarded: grants.allow(item, for: client)
    case .open: true
    }
  }

  /// Whether a collection or item is unlocked for its client. The path comes from the client, so it may be the path of an alias.
  ///
  /// - Throws: the reason, if the target of an alias is unknown.
  func state(of path: String, for client: String) throws(BusError) -> State {
    do throws(BusError) {
      switch ObjectPath(path) {
      case .other: return .absent
      case .collection(let name) where waitsForLabels(name), .item(let name, _) where waitsForLabels(name):
        return .locked
      case .collection(let name):
        if isUnknown(name) { return vault.isMissing && !tree.isFirst(name) ? .absent : .locked }
        let place = try tree.place(name)
        // A client that unlocks a collection wants the collection's items unlocked too.
        if case .vault(let id) = place, vault.collections.hasLockedItems(in: id) { return .locked }
        return try isLocked(place) ? .locked : .unlocked
      case .item(let name, _):
        if isUnknown(name) { return vault.isMissing ? .absent : .locked }
        let item = try tree.item(at: path)
        let vault = tree.holder(item.collection).vault
        let readability = try BusError.vault { () throws(VaultError) in try vault.reader.readability(ofItem: item.id) }
        return mayRead(item.id, readability, for: client) ? .unlocked : .locked
      }
    } catch {
      guard error.isNoSuchObject else { throw error }
      return .absent
    }
  }

  /// Whether a name is made of a label while labels cannot be opened. Only after the login is it known which collection has the
  /// name.
  func waitsForLabels(_ name: ObjectPath.CollectionName) -> Bool {
    guard case .named = name else { return false }
    return vault.hasDatabase && !vault.collections.knowsNames
  }

  /// Whether a collection can be neither found nor missed: there is no vault yet, or a vault that cannot be read. Then the
  /// collection counts as locked, so that a client learns neither that it may read, nor that the collection is missing.
  private func isUnknown(_ name: ObjectPath.CollectionName) -> Bool {
    !vault.hasDatabase && name != .session && name != .alias("session")
  }
}
