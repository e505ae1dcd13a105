import LatchkeyKeybag
import LatchkeyReasons

/// The keys that are in memory now: of collections and their classes, of the index, and this device's share.
final class VaultKeys {
  /// Every collection, oldest first, with its keys that are in memory.
  var collections: [OpenCollection] = []
  /// The ends of the tier keys' chains, for new collections. ``lock()`` drops the chain of tier key A,
  /// and ``seal()`` drops the chains of A and C.
  var chains = TierChains.sealed
  /// The key epochs of the tier keys, from the keybag.
  var heldEpochs: [TierEpoch] = []
  /// Nil if this device's key cannot be used.
  var share: DeviceShare?
  /// The index, by which searches find items. With a share of the device, it can be used before the first login.
  var index: AttributeIndex?
  /// The database's own generation, which is sealed with the index, as it was when the vault last got keys.
  var generation: UInt64 = 0
  /// The problem with the device key; the reason names its cause.
  var deviceProblem: Reason?
  /// The explicit locks of objects whose keys stay in memory.
  var ownLocks = OwnLocks()
  /// Deleted collections that must come back.
  var deleted = DeletedCollections()
  /// Whether the login has a password, as the keybag says.
  var loginHasPassword = true

  /// Whether both tier keys are in memory.
  var isUnlocked: Bool { chains.isUnlocked }

  /// The problem if the device key can be used, but the vault has no share for it.
  static let strangeDevice = Reason.of(.deviceKey, .device(.unknownKey))

  /// The index, or the reason why it cannot be used.
  func readyIndex() throws(VaultError) -> AttributeIndex {
    guard let index else {
      throw .unavailable(
        .both(deviceProblem ?? VaultKeys.strangeDevice, .vault(.nothingFound)))
    }
    return index
  }

  /// - Throws: ``VaultError/noSuchCollection``.
  func collection(_ id: Int64) throws(VaultError) -> OpenCollection {
    guard let found = collections.first(where: { $0.row.id == id }) else { throw .noSuchCollection }
    return found
  }

  /// The class key number `id`, and its collection; nil if the vault has no such key.
  func classKey(_ id: Int64) -> (collection: OpenCollection, key: ClassKey)? {
    for collection in collections {
      if let key = collection.classes.first(where: { $0.row.id == id }) { return (collection, key) }
    }
    return nil
  }

  /// Whether the login has a password that items can depend on. Known only while the vault is unlocked.
  var hasPasscode: Bool { loginHasPassword && share?.isErased != true }

  /// Refuses to store an item that depends on a password if the login has none.
  ///
  /// - Throws: ``VaultError/noPasscode``.
  func checkPasscode(for accessibility: AccessibilityClass) throws(VaultError) {
    guard accessibility == .whenPasscodeSetThisDeviceOnly, chains.session != nil, !hasPasscode else { return }
    throw .noPasscode
  }

  /// Erases tier A: the keys of items that are readable only while the session is unlocked. Touches no file.
  func lock() {
    chains.lock()
    deleted.forget()
    for collection in collections { collection.lock() }
  }

  /// Also erases tier C: only the device's own classes stay.
  func seal() {
    lock()
    (chains, heldEpochs) = (.sealed, [])
    ownLocks.liftAll()
    for collection in collections { collection.seal() }
    // If this device has no share, the index key came with tier key C, and is erased with it.
    guard share == nil else { return }
    index = nil
    for collection in collections { collection.name = nil }
  }

  /// Forgets everything when the database is closed.
  func forget() {
    (collections, chains, heldEpochs, share, index) = ([], .sealed, [], nil, nil)
    deleted.forget()
    ownLocks.liftAll()
  }
}
