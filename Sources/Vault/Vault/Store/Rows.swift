import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// A row whose last column is a check sum over the other columns.
protocol CheckedRow {
  /// Every other column, in order, framed.
  var content: [UInt8] { get }
}

extension CheckedRow {
  /// Unkeyed BLAKE2b-128 of the row.
  var checksum: [UInt8] { Sodium.checksum(content.span.bytes, length: 16) }
}

/// The one row of table `vault`.
struct VaultRow: CheckedRow {
  let vault: [UInt8]
  let created: UInt64
  /// The index key, wrapped under tier key C.
  var indexKey: [UInt8]

  var content: [UInt8] {
    var out = ByteWriter()
    out.put(vault)
    out.number(created)
    out.long(indexKey)
    return out.bytes
  }
}

/// A row of table `device`: this vault's values for one device.
struct DeviceRow: CheckedRow {
  let id: Int64
  var identity: [UInt8]
  /// The share that device-bound class keys need, wrapped by the device key.
  var share: [UInt8]
  /// The share for whenPasscodeSetThisDeviceOnly, wrapped by the device key's erasable secret.
  var erasable: [UInt8]
  /// The index key, wrapped under the share.
  let indexKey: [UInt8]

  var content: [UInt8] {
    var out = ByteWriter()
    out.number(UInt64(bitPattern: id))
    out.put(identity)
    out.long(share)
    out.long(erasable)
    out.long(indexKey)
    return out.bytes
  }
}

/// A row of table `collection`.
struct CollectionRow: CheckedRow {
  var id: Int64
  let uuid: [UInt8]
  /// The collection's place in the chain of collection keys.
  let ordinal: UInt64
  /// The oldest key epoch that something in the collection may depend on.
  var epoch: UInt64
  /// The label, sealed under a key that is derived from the index key.
  var label: [UInt8]
  /// Set by Lock(collection): a screen unlock does not bring the collection's keys back.
  var locked: Bool
  /// A ``CollectionPassphrase``; nil without one.
  var passphrase: [UInt8]?
  /// Reserved in format 1: no program writes it, and no program obeys it.
  let defaultClass: AccessibilityClass?
  let created: UInt64
  var modified: UInt64

  var content: [UInt8] {
    var out = ByteWriter()
    out.number(UInt64(bitPattern: id))
    out.put(uuid)
    out.number(ordinal)
    out.number(epoch)
    out.long(label)
    out.number(UInt8(locked ? 1 : 0))
    out.number(UInt8(passphrase == nil ? 0 : 1))
    out.long(passphrase ?? [])
    out.number(defaultClass?.rawValue ?? 0)
    out.number(created)
    out.number(modified)
    return out.bytes
  }
}

/// A row of table `class_key`: the keys of one class in one collection.
struct ClassKeyRow: CheckedRow {
  var id: Int64
  let uuid: [UInt8]
  var collection: Int64
  let accessibility: AccessibilityClass
  /// The device that the class is bound to; nil for a class that migrates.
  let device: Int64?
  let created: UInt64
  var classKey: [UInt8]
  /// For `always`: a copy under tier key C, so that it migrates.
  var classKeySession: [UInt8]?
  var metadataKey: [UInt8]
  var metadataKeySession: [UInt8]?
  let publicKey: [UInt8]?
  var publicTag: [UInt8]?
  let privateKey: [UInt8]?

  var content: [UInt8] {
    var out = ByteWriter()
    out.number(UInt64(bitPattern: id))
    out.put(uuid)
    out.number(UInt64(bitPattern: collection))
    out.number(accessibility.rawValue)
    out.number(UInt64(bitPattern: device ?? 0))
    out.number(created)
    for blob in [
      classKey, classKeySession, metadataKey, metadataKeySession, publicKey, publicTag, privateKey,
    ] {
      out.number(UInt8(blob == nil ? 0 : 1))
      out.long(blob ?? [])
    }
    return out.bytes
  }
}

/// A row of table `item`.
struct ItemRow: CheckedRow {
  /// How the item key is kept.
  enum Form: UInt8 {
    /// Wrapped under the class key.
    case wrapped = 0
    /// Sealed to the class's public key: the item was stored while the class was locked.
    case storedWhileLocked = 1
    /// Stored while locked, but not by a program with tier key C: kept, never opened.
    case quarantined = 2
  }

  var id: Int64
  let uuid: [UInt8]
  var collection: Int64
  var classKey: Int64
  var form: Form
  let created: UInt64
  var modified: UInt64
  var metadata: [UInt8]
  var itemKey: [UInt8]
  var lockedTag: [UInt8]?
  /// The item's requirements beside its keys (``ItemAccess``); nil without requirements.
  var access: [UInt8]?
  var secret: [UInt8]
  /// The attributes' tokens, 16 bytes each, sorted. The last token stands for the whole set.
  var tokens: [UInt8]

  var content: [UInt8] {
    var out = ByteWriter()
    out.number(UInt64(bitPattern: id))
    out.put(uuid)
    out.number(UInt64(bitPattern: collection))
    out.number(UInt64(bitPattern: classKey))
    out.number(form.rawValue)
    out.number(created)
    out.number(modified)
    out.long(metadata)
    out.long(itemKey)
    out.number(UInt8(lockedTag == nil ? 0 : 1))
    out.long(lockedTag ?? [])
    out.number(UInt8(access == nil ? 0 : 1))
    out.long(access ?? [])
    out.long(secret)
    out.long(tokens)
    return out.bytes
  }
}

/// A row of table `alias`.
struct AliasRow: CheckedRow {
  let token: [UInt8]
  let collection: Int64

  var content: [UInt8] {
    var out = ByteWriter()
    out.put(token)
    out.number(UInt64(bitPattern: collection))
    return out.bytes
  }
}
