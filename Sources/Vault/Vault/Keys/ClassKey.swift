import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// The keys of one class in one collection, as far as they are in memory now.
final class ClassKey {
  private(set) var row: ClassKeyRow
  /// Wraps item keys. Nil while the class is locked.
  private(set) var secretKey: HeldKey?
  /// Seals labels and attributes.
  private(set) var metadataKey: HeldKey?
  /// Opens items that were stored while the class was locked. Nil while the class is locked.
  private(set) var privateKey: HeldKey?
  /// Whether the public key in the row was made by a program with tier key C, and with the secret of the collection's passphrase if
  /// there is one. The answer is kept as long as these keys.
  private(set) var publicKeyIsGenuine = false
  /// The oldest key epoch by which a part of this class opened; 0 while no part did, or if the class depends on no epoch.
  private(set) var epoch: UInt32 = 0
  /// Whether a key came from a copy under tier key C. This happens on a device other than the class's own.
  private var cameFromSession = false

  init(_ row: ClassKeyRow) {
    self.row = row
  }

  /// The keys that a class's own key depends on.
  struct Above {
    /// The key epoch of the two tier keys.
    let epoch: UInt32
    /// The collection's own tier key A; nil while locked.
    let unlocked: HeldKey?
    /// The collection's own tier key C; nil while sealed.
    let session: HeldKey?
    /// Nil on a device other than the class's own.
    let share: DeviceShare?
    /// The secret behind the collection's own passphrase; nil without one.
    let passphrase: HeldKey?

    fileprivate func base(_ tier: AccessibilityClass.Tier) -> HeldKey? {
      switch tier {
      case .unlocked: unlocked
      case .session: session
      case .device: share?.bound
      }
    }

    /// The key that wraps the class key (or, for `label` metadataWrap, the metadata key); nil while an input is missing.
    fileprivate func wrapKey(
      _ label: KeyLabel, _ accessibility: AccessibilityClass, context: [[UInt8]]
    ) throws(SodiumError) -> Key? {
      let tier = label == .classWrap ? accessibility.tier : accessibility.metadataTier
      guard let base = base(tier) else { return nil }
      var hash = try KeyedHash(key: base.key)
      hash.update(label.text)
      for input in context { hash.update(input.span.bytes) }
      // Labels and attributes of ThisDeviceOnly items stay readable on another device, so that they can be listed there.
      if accessibility.isBoundToDevice && tier != .device && (label == .classWrap || tier == .unlocked) {
        guard let share else { return nil }
        hash.update(share.bound.key)
      }
      if accessibility == .whenPasscodeSetThisDeviceOnly {
        guard let erasable = share?.erasable else { return nil }
        hash.update(erasable.key)
      }
      if let passphrase { hash.update(passphrase.key) }
      return try hash.key()
    }

    /// The key that wraps the copy of an `always` class that migrates.
    fileprivate func sessionWrapKey(_ label: KeyLabel, context: [[UInt8]]) throws(SodiumError) -> Key? {
      guard let session else { return nil }
      var hash = try KeyedHash(key: session.key)
      hash.update(label.text)
      for input in context { hash.update(input.span.bytes) }
      if let passphrase { hash.update(passphrase.key) }
      return try hash.key()
    }

    /// The tag that proves a class's public key. It includes the passphrase's secret. Without that secret, a person with the login
    /// alone could exchange the public key, and read the items that are stored behind the locked screen.
    fileprivate func publicKeyTag(_ publicKey: [UInt8], context: [[UInt8]]) throws(SodiumError) -> [UInt8]? {
      guard let session else { return nil }
      var hash = try KeyedHash(key: session.key)
      hash.update(KeyLabel.publicKeyTag.text)
      for input in context + [publicKey] { hash.update(input.span.bytes) }
      if let passphrase { hash.update(passphrase.key) }
      return hash.tag()
    }
  }

  private static func context(
    vault: [UInt8], collection: [UInt8], accessibility: AccessibilityClass, uuid: [UInt8]
  ) -> [[UInt8]] {
    [vault, collection, [accessibility.rawValue], uuid]
  }

  /// Unwraps the keys of the class, as far as the keys above it are in memory. Keys that are in memory already stay.
  ///
  /// - Parameter all: the keys above the class, of each key epoch that it may depend on, newest first.
  func open(vault: [UInt8], collection: [UInt8], above all: [Above]) throws(VaultError) {
    let context = ClassKey.context(
      vault: vault, collection: collection, accessibility: row.accessibility, uuid: row.uuid)
    let associated = context.flatMap { $0 }
    let accessibility = row.accessibility
    try VaultError.sodium(.vault(.classKey)) { () throws(SodiumError) in
      /// Opens `sealed` with the newest keys that can.
      func unwrap(_ sealed: [UInt8], _ wrap: (Above) throws(SodiumError) -> Key?) throws(SodiumError) -> HeldKey? {
        var wasTried = false
        for above in all {
          guard let key = try wrap(above) else { continue }
          do throws(SodiumError) {
            let opened = HeldKey(try Key(try AEAD.open(sealed.span.bytes, key: key, associated: associated)))
            if accessibility.tier != .device { epoch = epoch == 0 ? above.epoch : min(epoch, above.epoch) }
            return opened
          } catch {
            guard error == .decryptionFailed else { throw error }
            wasTried = true
          }
        }
        if wasTried { throw .decryptionFailed }
        return nil
      }
      /// Opens `sealed` by the keys that the class really depends on, or by the copy of the class key.
      func unwrap(_ sealed: [UInt8], copy: [UInt8]?, _ label: KeyLabel) throws(SodiumError) -> HeldKey? {
        let key = try unwrap(sealed) { above throws(SodiumError) in
          let usable = row.device == nil || row.device == above.share?.row
          let here = Above(
            epoch: above.epoch, unlocked: above.unlocked, session: above.session, share: usable ? above.share : nil,
            passphrase: above.passphrase)
          return try here.wrapKey(label, accessibility, context: context)
        }
        guard key == nil, let copy else { return key }
        let copied = try unwrap(copy) { above throws(SodiumError) in
          try above.sessionWrapKey(label, context: context)
        }
        if copied != nil { cameFromSession = true }
        return copied
      }
      if metadataKey == nil {
        metadataKey = try unwrap(row.metadataKey, copy: row.metadataKeySession, .metadataWrap)
      }
      if secretKey == nil {
        secretKey = try unwrap(row.classKey, copy: row.classKeySession, .classWrap)
        if let secretKey, let sealed = row.privateKey {
          let opened = HeldKey(try Key(try AEAD.open(sealed.span.bytes, key: secretKey.key, associated: associated)))
          // The tag alone is no proof here, because anybody who took tier key C from memory could make it.
          guard SealedBox.publicKey(of: opened.key) == row.publicKey else { throw .decryptionFailed }
          privateKey = opened
        }
      }
      if let publicKey = row.publicKey, let tag = row.publicTag {
        var tags: [[UInt8]] = []
        // The tag must be of the same key epoch as the rest. If not, anybody with keys of a former epoch could put in another
        // public key.
        for above in all where above.epoch == epoch {
          if let expected = try above.publicKeyTag(publicKey, context: context) { tags.append(expected) }
        }
        guard tags.isEmpty || tags.contains(where: { Sodium.equal($0, tag) }) else { throw .decryptionFailed }
        if !tags.isEmpty { publicKeyIsGenuine = true }
      }
    }
  }

  /// Makes a class's keys. Every key above them must be in memory.
  static func make(
    id: Int64, vault: [UInt8], collection: CollectionRow, accessibility: AccessibilityClass, above: Above
  ) throws(VaultError) -> ClassKeyRow? {
    let uuid = Sodium.randomBytes(16)
    let context = context(vault: vault, collection: collection.uuid, accessibility: accessibility, uuid: uuid)
    let associated = context.flatMap { $0 }
    return try VaultError.sodium(.vault(.classKey)) { () throws(SodiumError) in
      guard let classWrap = try above.wrapKey(.classWrap, accessibility, context: context),
        let metadataWrap = try above.wrapKey(.metadataWrap, accessibility, context: context), above.session != nil
      else { return nil }
      let secret = try Key.random()
      let metadata = try Key.random()
      var copies: (classKey: [UInt8], metadataKey: [UInt8])?
      if accessibility == .always, let first = try above.sessionWrapKey(.classWrap, context: context),
        let second = try above.sessionWrapKey(.metadataWrap, context: context)
      {
        copies = (
          AEAD.seal(secret.bytes, key: first, associated: associated),
          AEAD.seal(metadata.bytes, key: second, associated: associated)
        )
      }
      var pair: (publicKey: [UInt8], tag: [UInt8], privateKey: [UInt8])?
      if accessibility.acceptsWhileLocked {
        let privateKey = try Key.random()
        let publicKey = SealedBox.publicKey(of: privateKey)
        guard let tag = try above.publicKeyTag(publicKey, context: context) else { return nil }
        pair = (publicKey, tag, AEAD.seal(privateKey.bytes, key: secret, associated: associated))
      }
      return ClassKeyRow(
        id: id, uuid: uuid, collection: collection.id, accessibility: accessibility,
        device: accessibility.isBoundToDevice ? above.share?.row : nil, created: Process.time,
        classKey: AEAD.seal(secret.bytes, key: classWrap, associated: associated), classKeySession: copies?.classKey,
        metadataKey: AEAD.seal(metadata.bytes, key: metadataWrap, associated: associated),
        metadataKeySession: copies?.metadataKey, publicKey: pair?.publicKey, publicTag: pair?.tag,
        privateKey: pair?.privateKey)
    }
  }

  /// The row with its keys wrapped under other keys above; nil unless all keys above are in memory.
  func rewrapped(vault: [UInt8], collection: [UInt8], above: Above) throws(VaultError) -> ClassKeyRow? {
    guard let secretKey, let metadataKey, row.device == nil || row.device == above.share?.row else { return nil }
    let context = ClassKey.context(
      vault: vault, collection: collection, accessibility: row.accessibility, uuid: row.uuid)
    let associated = context.flatMap { $0 }
    return try VaultError.sodium(.vault(.classKey)) { () throws(SodiumError) -> ClassKeyRow? in
      guard let classWrap = try above.wrapKey(.classWrap, row.accessibility, context: context),
        let metadataWrap = try above.wrapKey(.metadataWrap, row.accessibility, context: context)
      else { return nil }
      var next = row
      next.classKey = ClassKey.wrapped(secretKey.key, under: classWrap, associated)
      next.metadataKey = ClassKey.wrapped(metadataKey.key, under: metadataWrap, associated)
      if row.classKeySession != nil, row.metadataKeySession != nil {
        guard try copy(secretKey, metadataKey, into: &next, context: context, above: above) else { return nil }
      }
      if let publicKey = row.publicKey {
        guard let tag = try above.publicKeyTag(publicKey, context: context) else { return nil }
        next.publicTag = tag
      }
      return next
    }
  }

  /// The row of another device's class that has copies under tier key C, with the copies wrapped under another tier key C; nil
  /// without copies.
  func recopied(vault: [UInt8], collection: [UInt8], above: Above) throws(VaultError) -> ClassKeyRow? {
    guard let secretKey, let metadataKey, row.classKeySession != nil else { return nil }
    let context = ClassKey.context(
      vault: vault, collection: collection, accessibility: row.accessibility, uuid: row.uuid)
    return try VaultError.sodium(.vault(.classKey)) { () throws(SodiumError) -> ClassKeyRow? in
      var next = row
      return try copy(secretKey, metadataKey, into: &next, context: context, above: above) ? next : nil
    }
  }

  /// Wraps the copies under tier key C again.
  ///
  /// - Returns: whether there are copies; if not, nothing was changed.
  private func copy(
    _ secretKey: HeldKey, _ metadataKey: HeldKey, into next: inout ClassKeyRow, context: [[UInt8]], above: Above
  ) throws(SodiumError) -> Bool {
    guard let first = try above.sessionWrapKey(.classWrap, context: context),
      let second = try above.sessionWrapKey(.metadataWrap, context: context)
    else { return false }
    let associated = context.flatMap { $0 }
    next.classKeySession = ClassKey.wrapped(secretKey.key, under: first, associated)
    next.metadataKeySession = ClassKey.wrapped(metadataKey.key, under: second, associated)
    return true
  }

  private static func wrapped(_ key: borrowing Key, under wrap: borrowing Key, _ associated: [UInt8]) -> [UInt8] {
    AEAD.seal(key.bytes, key: wrap, associated: associated)
  }

  /// Takes over a row that was written to the disk, wrapped by the key epoch `epoch`.
  func adopt(_ next: ClassKeyRow, epoch: UInt32) {
    row = next
    if row.accessibility.tier != .device { self.epoch = epoch }
  }

  /// Erases the keys that a locked session must not have: for a class of tier A its key and private key.
  func lock() {
    if row.accessibility.tier == .unlocked { (secretKey, privateKey) = (nil, nil) }
    if row.accessibility.metadataTier == .unlocked { metadataKey = nil }
  }

  /// Erases all keys that must not be in memory before the first login. Only the keys of the device's own classes stay.
  func seal() {
    lock()
    if row.accessibility.tier == .session { secretKey = nil }
    if row.accessibility.metadataTier == .session { metadataKey = nil }
    if cameFromSession { (secretKey, metadataKey, cameFromSession) = (nil, nil, false) }
    publicKeyIsGenuine = false
  }

  /// Why the class cannot be read while the class key is not in memory.
  func absence(on share: DeviceShare?) -> VaultError {
    guard let device = row.device, device != share?.row, row.classKeySession == nil else { return .isLocked }
    // Without this device's share nobody knows which device this is.
    return share == nil ? .deviceMissing : .otherDevice
  }

  /// Erases everything: the collection is locked explicitly.
  func erase() {
    (secretKey, metadataKey, privateKey, publicKeyIsGenuine) = (nil, nil, nil, false)
    cameFromSession = false
  }
}
