import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// Seals the parts of ThisDeviceOnly items in a backup, with a key that only the items' device unwraps. The passphrase alone cannot
/// open them.
public final class BackupSeal {
  private let key: Key
  private let id: [UInt8]

  /// - Parameters:
  ///   - key: random, of this backup alone.
  ///   - id: the backup's.
  public init(_ key: consuming Key, id: [UInt8]) {
    self.key = key
    self.id = id
  }

  /// An item's place. So no value can be moved from one item to another.
  private func associated(
    _ column: String, _ accessibility: AccessibilityClass, number: UInt64, metadata: [UInt8]? = nil
  ) -> [UInt8] {
    var out = ByteWriter()
    out.text("latchkey/1/backup-" + column)
    out.put(id)
    out.number(accessibility.rawValue)
    out.number(number)
    if let metadata { out.put(Sodium.checksum(metadata.span.bytes)) }
    return out.bytes
  }

  /// Seals a secret, for the item that has `metadata` and is number `number` of the backup, from 0.
  public func seal(
    secret: borrowing SecureBytes, _ accessibility: AccessibilityClass, number: UInt64, metadata: [UInt8]
  ) throws(SodiumError) -> SecureBytes {
    let sealed = AEAD.seal(
      secret.bytes, key: key, associated: associated("secret", accessibility, number: number, metadata: metadata))
    return try SecureBytes(copying: sealed.span.bytes)
  }

  /// Opens a value of ``seal(secret:_:number:metadata:)``.
  public func open(
    secret: borrowing SecureBytes, _ accessibility: AccessibilityClass, number: UInt64, metadata: [UInt8]
  ) throws(SodiumError) -> SecureBytes {
    try AEAD.open(
      secret.bytes, key: key, associated: associated("secret", accessibility, number: number, metadata: metadata))
  }

  /// Seals label and attributes of that item.
  public func seal(metadata: [UInt8], _ accessibility: AccessibilityClass, number: UInt64) -> [UInt8] {
    AEAD.seal(metadata.span.bytes, key: key, associated: associated("metadata", accessibility, number: number))
  }

  /// Opens a value of ``seal(metadata:_:number:)``.
  public func open(
    metadata: [UInt8], _ accessibility: AccessibilityClass, number: UInt64
  ) throws(SodiumError) -> [UInt8] {
    let plain = try AEAD.open(
      metadata.span.bytes, key: key, associated: associated("metadata", accessibility, number: number))
    return plain.bytes.octets
  }
}
