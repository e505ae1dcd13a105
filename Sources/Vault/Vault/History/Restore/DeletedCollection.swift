import LatchkeyKeybag
import LatchkeyReasons

/// A collection that is in a generation, but no longer in the vault.
enum DeletedCollection {
  /// The collection had a passphrase of its own.
  case protected
  /// The collection's keys are not in memory: they come with the password.
  case waiting
  /// The collection's class keys belong to a former key epoch.
  case gone
  /// The collection's rows, with the classes that open.
  case open(OpenCollection)

  /// Why nothing of the collection can come back now; nil if something can.
  var obstacle: Reason? {
    switch self {
    case .protected: .item(.collectionDeletedProtected)
    case .waiting: .item(.collectionDeletedWaiting)
    case .gone: .item(.collectionDeletedGone)
    case .open: nil
    }
  }

  /// The collection of that row.
  ///
  /// - Parameter rows: the collection's class keys in the generation.
  init(_ row: CollectionRow, _ rows: [ClassKeyRow], of vault: Vault) throws(VaultError) {
    guard row.passphrase == nil else {
      self = .protected
      return
    }
    guard let keys = vault.keys.deleted.keys(of: row, epoch: vault.rotation.epoch) else {
      self = .waiting
      return
    }
    let id = try vault.database.ready().vault
    // A class key that does not open was destroyed, or belongs to another vault.
    var usable: [ClassKeyRow] = []
    for one in rows {
      let alone = try OpenCollection(row, classes: [one])
      do throws(VaultError) { try alone.take(keys, share: vault.keys.share, vault: id) } catch {
        guard case .damaged = error else { throw error }
        continue
      }
      usable.append(one)
    }
    let collection = try OpenCollection(row, classes: usable)
    try collection.take(keys, share: vault.keys.share, vault: id)
    // The number of a class key distinguishes later keys of a class from earlier keys.
    let isOpen = collection.classes.contains { $0.row.accessibility == .whenUnlocked && $0.secretKey != nil }
    self = isOpen ? .open(collection) : .gone
  }
}

extension OpenCollection {
  /// Takes over the keys of a deleted collection.
  func take(
    _ keys: DeletedCollections.Keys, share: DeviceShare?, vault: [UInt8]
  ) throws(VaultError) {
    try take(
      unlocked: keys.unlocked, session: keys.session, epoch: keys.epoch, former: [], lacksFormer: false, share: share,
      vault: vault)
  }
}
