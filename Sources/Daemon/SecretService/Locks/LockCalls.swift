import LatchkeySystemd
import LatchkeyVault

/// Hears that a client locked something.
protocol LockObserver: AnyObject {
  func stateChanged()
}

/// `Lock` of the service's object, and `LockService`, by which clients of gnome-keyring lock everything at once.
final class LockCalls {
  private let tree: CollectionTree
  private let effects: LockEffects
  private let announcer: StateAnnouncer
  private unowned let observer: any LockObserver
  private var vault: Vault { tree.vault }

  /// - Parameter observer: must live as long.
  init(_ tree: CollectionTree, effects: LockEffects, announcer: StateAnnouncer, observer: any LockObserver) {
    self.tree = tree
    self.effects = effects
    self.announcer = announcer
    self.observer = observer
  }

  /// `LockService`. No specification has it, so introspection does not show it.
  func lockService(_ call: MethodCall) throws(BusError) {
    var failure: VaultError?
    let portal = PortalCollection.id(in: vault)
    for id in vault.collections.ids where id != portal {
      // Even after a failed call, because keys are erased before anything is written.
      do throws(VaultError) { try vault.collections.lock(id) } catch { failure = error }
      effects.locked(collection: id)
    }
    observer.stateChanged()
    if let failure { throw BusError(failure) }
    call.reply()
  }

  func lock(_ call: MethodCall) throws(BusError) {
    let requested = try call.message.readObjectPaths()
    var locked: [String] = []
    var failure: VaultError?
    var obstacle: BusError?
    // Whether anything was locked. A call that locks nothing must cause no work for other clients.
    var isChanged = false
    var seen: Set<String> = []
    let portal = PortalCollection.id(in: vault)
    // If one lock fails, the rest is still locked.
    for path in requested where seen.insert(path).inserted {
      do throws(BusError) {
        switch try lockable(path, but: portal) {
        case .collection(let id):
          let state = try? vault.collections.state(of: id)
          // Even after a failed call, because keys are erased before anything is written.
          do throws(VaultError) { try vault.collections.lock(id) } catch { failure = error }
          // A collection that was locked before has no grants or prompts to end.
          if state != .lockedExplicitly && state != .needsPassphrase {
            effects.locked(collection: id)
            isChanged = true
          }
        case .nothing: break
        case .item(let id):
          if try BusError.vault({ () throws(VaultError) in try lockItem(id) }) { isChanged = true }
        }
        locked.append(path)
      } catch { obstacle = obstacle ?? error }
    }
    // This comes before the reply, because clients hear of the changes before the caller gets its reply.
    if isChanged { observer.stateChanged() }
    if let failure { throw BusError(failure) }
    // "Lock everything" also names collections that cannot be locked. If the client named no other objects, it gets the reason.
    if locked.isEmpty, let obstacle { throw obstacle }
    announcer.tell(locked, to: call.sender)
    call.reply { out in
      out.appendObjectPaths(locked)
      out.appendObjectPath(ObjectPath.none)
    }
  }

  /// The lockable part of the vault that a path names.
  private enum Lockable {
    case collection(Int64)
    case item(Int64)
    /// The first collection of a vault that does not exist yet or cannot be read. Such a collection is locked already.
    case nothing
  }

  /// - Parameter portal: the portal's collection.
  private func lockable(_ path: String, but portal: Int64?) throws(BusError) -> Lockable {
    let place: CollectionPlace
    var item: Int64?
    switch ObjectPath(path) {
    case .other: throw .noSuchObject(path)
    case .collection: place = try tree.collection(at: path)
    case .item:
      let found = try tree.item(at: path)
      (place, item) = (found.collection, found.id)
    }
    guard case .vault(let id) = place else { throw .notSupported(.service(.sessionNeverLocked)) }
    guard vault.collections.ids.contains(id) else {
      if vault.collections.ids.isEmpty, place == CollectionTree.firstPlace, item == nil { return .nothing }
      throw .noSuchObject(path)
    }
    // "Lock everything" is meant for the person's secrets. Without its secret, a sandboxed application cannot read its own
    // files.
    guard id != portal else {
      throw .notSupported(.service(.portalNeverLocked))
    }
    return item.map { .item($0) } ?? .collection(id)
  }

  /// Locks an item. An item with requirements is locked by taking away all its grants.
  ///
  /// - Returns: whether the item got an explicit lock that it did not have before.
  private func lockItem(_ id: Int64) throws(VaultError) -> Bool {
    if try vault.reader.readability(ofItem: id) == .guarded {
      effects.locked(item: id)
      return false
    }
    let wasLocked = vault.reader.isLockedByItself(item: id)
    // The lock of a locked item is noted as well, so that keys of an earlier password do not unlock the item.
    try vault.writer.lockItem(id)
    // An item that was locked before has no grants or prompts to end.
    guard !wasLocked else { return false }
    effects.locked(item: id)
    return true
  }
}
