import LatchkeyKeybag
import LatchkeySodium

/// One collection, with its keys that are in memory.
final class OpenCollection {
  var row: CollectionRow
  /// The passphrase; nil for a collection that the login alone opens.
  private(set) var passphrase: CollectionPassphrase?
  /// The secret behind the passphrase. Nil until the person has given the passphrase.
  private var passphraseSecret: HeldKey?
  /// The collection's own tier key A. Nil while locked.
  private(set) var unlocked: HeldKey?
  /// The collection's own tier key C. Nil while sealed.
  private(set) var session: HeldKey?
  private(set) var classes: [ClassKey] = []
  /// The collection's name in object paths. Nil while labels cannot be opened, and for the first collection, named by its number.
  var name: String?
  /// The key epoch of both tier keys.
  private(set) var epoch: UInt32 = 0
  /// The collection's keys of former key epochs that something in the collection depends on, newest first.
  private var former: [FormerKeys] = []
  /// Whether something in the collection may depend on a former key epoch whose keys the unlock did not bring.
  private var lacksFormer = false

  /// The values of ``unlocked`` and ``session`` in a former key epoch.
  struct FormerKeys {
    let epoch: UInt32
    var unlocked: HeldKey?
    let session: HeldKey
  }

  init(_ row: CollectionRow, classes rows: [ClassKeyRow]) throws(VaultError) {
    self.row = row
    if let bytes = row.passphrase { passphrase = try CollectionPassphrase(decoding: bytes) }
    classes = rows.map { ClassKey($0) }
  }

  /// Whether the login's keys alone open nothing in the collection: it has an explicit lock, or it still needs its passphrase.
  var isLockedByItself: Bool { row.locked || needsPassphrase }

  /// Whether the collection's passphrase is missing.
  var needsPassphrase: Bool { passphrase != nil && passphraseSecret == nil }

  func above(_ share: DeviceShare?) -> ClassKey.Above {
    ClassKey.Above(epoch: epoch, unlocked: unlocked, session: session, share: share, passphrase: passphraseSecret)
  }

  /// The keys above the class keys for every needed key epoch, newest first.
  private func everyAbove(_ share: DeviceShare?) -> [ClassKey.Above] { [above(share)] + above(share, former) }

  private func above(_ share: DeviceShare?, _ former: [FormerKeys]) -> [ClassKey.Above] {
    former.map {
      ClassKey.Above(
        epoch: $0.epoch, unlocked: $0.unlocked, session: $0.session, share: share, passphrase: passphraseSecret)
    }
  }

  /// The collection's tier keys C of every key epoch that is needed, newest first.
  var sessions: [HeldKey] { (session.map { [$0] } ?? []) + former.map(\.session) }

  /// Opens every class with the tier keys of the key epoch `epoch` and of former epochs, and keeps these keys. If a class does not
  /// open, the present keys stay, because the new keys may belong to another vault.
  ///
  /// - Parameter lacksFormer: whether the collection has keys of former epochs that `former` lacks.
  func take(
    unlocked: HeldKey?, session: HeldKey, epoch: UInt32, former: [FormerKeys], lacksFormer: Bool, share: DeviceShare?,
    vault: [UInt8]
  ) throws(VaultError) {
    let lacksFormer = lacksFormer && row.epoch < UInt64(epoch)
    let unlocked = unlocked ?? self.unlocked
    let former = former.map { one in
      var one = one
      one.unlocked = one.unlocked ?? self.former.first { $0.epoch == one.epoch }?.unlocked
      return one
    }
    let newest = ClassKey.Above(
      epoch: epoch, unlocked: unlocked, session: session, share: share, passphrase: passphraseSecret)
    try open([newest] + above(share, former), lacksFormer: lacksFormer, vault: vault)
    (self.unlocked, self.session, self.epoch) = (unlocked, session, epoch)
    (self.former, self.lacksFormer) = (former, lacksFormer)
  }

  /// Opens every class that the tier keys, the device's share and the passphrase allow.
  func open(share: DeviceShare?, vault: [UInt8]) throws(VaultError) {
    try open(everyAbove(share), lacksFormer: lacksFormer, vault: vault)
  }

  private func open(_ all: [ClassKey.Above], lacksFormer: Bool, vault: [UInt8]) throws(VaultError) {
    guard !needsPassphrase else { return }
    for key in classes {
      do throws(VaultError) { try key.open(vault: vault, collection: row.uuid, above: all) } catch {
        // A class counts as damaged only if its keys are in memory and it does not open. Without these keys, it waits for them.
        guard lacksFormer, case .damaged = error else { throw error }
        key.erase()
      }
    }
  }

  /// Opens every class with the key of a passphrase, if its tier key is in memory.
  ///
  /// - Returns: whether the passphrase is right.
  func open(passphraseKey: borrowing Key, share: DeviceShare?, vault: [UInt8]) throws(VaultError) -> Bool {
    guard let passphrase, let secret = try passphrase.open(passphraseKey, vault: vault, collection: row.uuid) else {
      return false
    }
    passphraseSecret = secret
    do throws(VaultError) { try open(share: share, vault: vault) } catch {
      close()
      throw error
    }
    return true
  }

  /// Everything that another passphrase changes on the disk.
  struct Protection {
    let row: CollectionRow
    let classes: [ClassKeyRow]
    fileprivate let passphrase: CollectionPassphrase?
    fileprivate let secret: HeldKey?
  }

  /// The collection's rows under a new passphrase, or without a passphrase. The caller passes the result to ``adopt(_:)`` when it
  /// is on the disk.
  ///
  /// - Parameter key: the key from the new passphrase, with `derivation`.
  /// - Throws: ``VaultError/isLocked`` unless every key of the collection is in memory.
  func protection(
    under key: borrowing Key, _ derivation: PassphraseDerivation, share: DeviceShare?, vault: [UInt8]
  ) throws(VaultError) -> Protection {
    let (passphrase, secret) = try VaultError.sodium(.vault(.collectionPassphrase)) {
      () throws(SodiumError) -> (CollectionPassphrase, HeldKey) in
      let secret = HeldKey(try Key.random())
      let passphrase = try CollectionPassphrase(
        secret: secret.key, under: key, derivation, vault: vault, collection: row.uuid)
      return (passphrase, secret)
    }
    return try protection(passphrase, secret, share: share, vault: vault)
  }

  func unprotected(share: DeviceShare?, vault: [UInt8]) throws(VaultError) -> Protection {
    try protection(nil, nil, share: share, vault: vault)
  }

  private func protection(
    _ passphrase: CollectionPassphrase?, _ secret: HeldKey?, share: DeviceShare?, vault: [UInt8]
  ) throws(VaultError) -> Protection {
    let above = ClassKey.Above(
      epoch: epoch, unlocked: unlocked, session: session, share: share, passphrase: secret)
    var next: [ClassKeyRow] = []
    for key in classes {
      guard let row = try key.rewrapped(vault: vault, collection: row.uuid, above: above) else {
        throw key.absence(on: share)
      }
      next.append(row)
    }
    var row = row
    row.passphrase = passphrase?.encoded
    return Protection(row: row, classes: next, passphrase: passphrase, secret: secret)
  }

  /// Takes over the rows that were written to the disk.
  func adopt(_ protection: Protection) {
    row = protection.row
    passphrase = protection.passphrase
    passphraseSecret = protection.secret
    for (key, row) in zip(classes, protection.classes) { key.adopt(row, epoch: epoch) }
  }

  /// Makes the classes for which this device has no keys yet. The caller passes them to ``adopt(_:)`` when they are on the disk.
  func makeMissingClasses(share: DeviceShare?, in store: Store) throws(VaultError) -> [ClassKey] {
    var missing: [ClassKey] = []
    let above = above(share)
    for accessibility in AccessibilityClass.allCases {
      if let present = current(accessibility, share: share), !isOutdated(present) { continue }
      let made = try ClassKey.make(
        id: try store.nextID(.classKey), vault: store.vault, collection: row, accessibility: accessibility,
        above: above)
      guard let made else { continue }
      try store.insert(made)
      let key = ClassKey(made)
      try key.open(vault: store.vault, collection: row.uuid, above: [above])
      missing.append(key)
    }
    return missing
  }

  /// Makes every class that this device can have, for a collection that is not on the disk yet: their rows get their
  /// numbers when it is.
  func draftClasses(share: DeviceShare?, vault: [UInt8]) throws(VaultError) {
    let above = above(share)
    for accessibility in AccessibilityClass.allCases {
      let made = try ClassKey.make(
        id: 0, vault: vault, collection: row, accessibility: accessibility, above: above)
      guard let made else { continue }
      let key = ClassKey(made)
      try key.open(vault: vault, collection: row.uuid, above: [above])
      classes.append(key)
    }
  }

  /// Adds new classes.
  func adopt(_ made: [ClassKey]) {
    classes += made
  }

  /// Drops classes that were removed from the disk.
  func drop(_ removed: [ClassKey]) {
    classes.removeAll { key in removed.contains { $0 === key } }
  }

  /// Takes over a row that was written to the disk. If it has the newest epoch, nothing depends on former keys.
  func adopt(_ next: CollectionRow) {
    row = next
    if row.epoch >= UInt64(epoch) { former = [] }
  }

  /// The class's newest keys that this device can use.
  func current(_ accessibility: AccessibilityClass, share: DeviceShare?) -> ClassKey? {
    classes.last {
      $0.row.accessibility == accessibility && ($0.row.device == nil || $0.row.device == share?.row)
    }
  }

  /// The reason why the class accepts no item, if ``current(_:share:)`` has no keys for it.
  func absence(of accessibility: AccessibilityClass, share: DeviceShare?) -> VaultError {
    // Before the first login nobody knows whether the device key would open the class.
    accessibility.isBoundToDevice && share == nil && session != nil ? .deviceMissing : .isLocked
  }

  func lock() {
    unlocked = nil
    for index in former.indices { former[index].unlocked = nil }
    for key in classes { key.lock() }
  }

  func seal() {
    lock()
    session = nil
    former = []
    for key in classes { key.seal() }
    if passphrase != nil { close() }
  }

  /// Locks only this collection. If it has a passphrase, the tier keys stay, because they open nothing without the passphrase.
  func close() {
    for key in classes { key.erase() }
    if passphrase != nil { passphraseSecret = nil } else { (unlocked, session, former) = (nil, nil, []) }
  }

  func erase() {
    for key in classes { key.erase() }
    (unlocked, session, passphraseSecret, former) = (nil, nil, nil, [])
  }
}
