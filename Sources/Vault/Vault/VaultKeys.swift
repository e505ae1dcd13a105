import LatchkeyKeybag
import LatchkeyReasons

/// The keys that are in memory now: of collections and their classes, of the index, and this device's share.
final class VaultKeys {
  /// Every collection, oldest first, with those of its keys that are in memory.
  var collections: [OpenCollection] = []
  /// The links behind the last collection: new collections get their keys from these. ``lock()`` drops the one,
  /// ``seal()`` both.
  var chains: (unlocked: KeyChain?, session: KeyChain?)
  /// Nil where this device's key cannot be used.
  var share: DeviceShare?
  /// Finds items; there before the first login where the device has a share.
  var index: AttributeIndex?
  /// The problem with the device key; the line names its cause.
  var deviceProblem: Reason?
  /// The explicit locks of objects whose keys stay in memory.
  var ownLocks = OwnLocks()
  /// Collections that were deleted and are to come back.
  var deleted = DeletedCollections()
  /// Whether the login has a password, as the keybag says.
  var loginHasPassword = true

  /// Whether both tier keys are in memory.
  var isUnlocked: Bool { chains.unlocked != nil && chains.session != nil }

  /// The problem where the device key can be used, but the vault has no share for it.
  static let strangeDevice = Reason.of(.deviceKey, .device(.unknownKey))

  /// The index, or why nothing can be found by it.
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

  /// The class key of that number, and its collection; nil where the vault has none.
  func classKey(_ id: Int64) -> (collection: OpenCollection, key: ClassKey)? {
    for collection in collections {
      if let key = collection.classes.first(where: { $0.row.id == id }) { return (collection, key) }
    }
    return nil
  }

  /// Whether the login has a password that items can depend on. Known only while the vault is unlocked.
  var hasPasscode: Bool { loginHasPassword && share?.isErased != true }

  /// Refuses to store what depends on a password that the login does not have.
  ///
  /// - Throws: ``VaultError/noPasscode``.
  func checkPasscode(for accessibility: AccessibilityClass) throws(VaultError) {
    guard accessibility == .whenPasscodeSetThisDeviceOnly, chains.session != nil, !hasPasscode else { return }
    throw .noPasscode
  }

  /// Erases tier A: the keys of items that are readable only while the session is unlocked. Touches no file.
  func lock() {
    chains.unlocked = nil
    deleted.forget()
    for collection in collections { collection.lock() }
  }

  /// Erases tier C as well: only the device's own classes stay.
  func seal() {
    lock()
    chains.session = nil
    ownLocks.liftAll()
    for collection in collections { collection.seal() }
    // Where this device has no share, the index key came with tier key C, and goes with it.
    guard share == nil else { return }
    index = nil
    for collection in collections { collection.name = nil }
  }

  /// Forgets everything when the database is closed.
  func forget() {
    (collections, chains, share, index) = ([], (nil, nil), nil, nil)
    deleted.forget()
    ownLocks.liftAll()
  }
}
