import LatchkeyKeybag
import LatchkeyReasons
import LatchkeySodium

/// This device's part of the keys that are bound to it: two secrets that only the device key unwraps.
struct DeviceShare {
  /// The number of the device's row.
  let row: Int64
  /// The secret for the ThisDeviceOnly classes.
  let bound: HeldKey
  /// The secret for whenPasscodeSetThisDeviceOnly; nil once the secret was erased.
  let erasable: HeldKey?

  /// Unwraps the shares of a row.
  init(_ row: DeviceRow, vault: [UInt8], device: any DeviceKey) throws(DeviceKeyError) {
    self.row = row.id
    bound = HeldKey(try device.unwrap(row.share, .bound, context: vault))
    do throws(DeviceKeyError) {
      erasable = HeldKey(try device.unwrap(row.erasable, .erasable, context: vault))
    } catch {
      // Only an answer of the device proves that the share is erased. A failure proves nothing.
      guard error == .otherDevice else { throw error }
      erasable = nil
    }
  }

  private init(row: Int64, bound: HeldKey, erasable: HeldKey?) {
    self.row = row
    self.bound = bound
    self.erasable = erasable
  }

  /// New shares for a device that the vault has not met, and the row that keeps them.
  static func make(
    id: Int64, vault: [UInt8], device: any DeviceKey, index: AttributeIndex
  ) throws(VaultError) -> (DeviceShare, DeviceRow) {
    do {
      let bound = HeldKey(try Key.random())
      let erasable = HeldKey(try Key.random())
      let wrap = try bound.key.derive(.indexWrap, [vault])
      let indexKey = try index.withKey { key throws(VaultError) in
        AEAD.seal(key.bytes, key: wrap, associated: vault)
      }
      let row = DeviceRow(
        id: id, identity: device.identity, share: try device.wrap(bound.key, .bound, context: vault),
        erasable: try device.wrap(erasable.key, .erasable, context: vault), indexKey: indexKey)
      return (DeviceShare(row: id, bound: bound, erasable: erasable), row)
    } catch let error as DeviceKeyError {
      throw .unavailable(.of(device.backend.title, error.reason))
    } catch {
      throw .outOfMemory
    }
  }

  /// The row of this share, wrapped by another device key: nothing that depends on the share changes.
  func moved(_ row: DeviceRow, to device: any DeviceKey, vault: [UInt8]) throws(DeviceKeyError) -> DeviceRow {
    var next = row
    next.identity = device.identity
    next.share = try device.wrap(bound.key, .bound, context: vault)
    // A share that was erased opens nowhere, and stays erased.
    if let erasable { next.erasable = try device.wrap(erasable.key, .erasable, context: vault) }
    return next
  }

  /// Whether the items that depend on the login's password were destroyed, and the login has got no password since.
  var isErased: Bool { erasable == nil }

  /// The share without its erasable secret.
  var withoutErasable: DeviceShare { DeviceShare(row: row, bound: bound, erasable: nil) }

  /// The share and its row with a new erasable secret.
  func renewingErasable(
    _ row: DeviceRow, on device: any DeviceKey, vault: [UInt8]
  ) throws(VaultError) -> (DeviceShare, DeviceRow) {
    do {
      let erasable = HeldKey(try Key.random())
      var next = row
      next.erasable = try device.wrap(erasable.key, .erasable, context: vault)
      return (DeviceShare(row: self.row, bound: bound, erasable: erasable), next)
    } catch let error as DeviceKeyError {
      throw .unavailable(.of(device.backend.title, error.reason))
    } catch {
      throw .outOfMemory
    }
  }

  /// Whether both shares have the same secrets.
  func isSame(as other: DeviceShare) -> Bool {
    func equal(_ left: borrowing Key, _ right: borrowing Key) -> Bool { Sodium.equal(left.bytes, right.bytes) }
    guard equal(bound.key, other.bound.key) else { return false }
    guard let first = erasable, let second = other.erasable else { return erasable == nil && other.erasable == nil }
    return equal(first.key, second.key)
  }

  /// The index key from this device's row.
  func index(_ row: DeviceRow, vault: [UInt8]) throws(VaultError) -> AttributeIndex {
    try VaultError.sodium(.vault(.indexKey)) { () throws(SodiumError) in
      let wrap = try bound.key.derive(.indexWrap, [vault])
      return AttributeIndex(try Key(try AEAD.open(row.indexKey.span.bytes, key: wrap, associated: vault)))
    }
  }
}

extension DeviceKeyBackend {
  /// The subject of a reason about the share.
  var title: SubjectReason { self == .file ? .deviceFile : .deviceService }
}

extension DeviceKeyError {
  /// The problem with the device key.
  var reason: Reason {
    switch self {
    case .otherDevice: .device(.otherDevice)
    case .unavailable(let reason): reason
    }
  }
}
