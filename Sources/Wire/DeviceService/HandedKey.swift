import LatchkeySodium

/// A covering key on its way to the device key service.
///
/// It crosses the socket sealed to a key that the service made for this connection. So the kernel's socket buffers, which it frees
/// without clearing them, hold no usable key.
public struct HandedKey: ~Copyable {
  /// The covering key.
  public let key: Key
  /// The key of the holder, to which the service seals the covering key when a finger releases it: 32 bytes.
  public let publicKey: [UInt8]
  /// Whether the key may be in memory if there is no TPM.
  public let isMemoryAllowed: Bool

  private static let size = 1 + 2 * Key.size
  /// The size of the sealed form, in bytes.
  public static let sealedSize = size + SealedBox.overhead

  /// Copies the covering key.
  public init(copying key: borrowing Key, publicKey: [UInt8], isMemoryAllowed: Bool) throws(SodiumError) {
    self.key = try key.duplicate()
    self.publicKey = publicKey
    self.isMemoryAllowed = isMemoryAllowed
  }

  /// Opens the sealed form.
  ///
  /// - Parameter secret: the secret half of the key that the service made for the connection.
  public init(opening sealed: [UInt8], with secret: borrowing Key) throws(SodiumError) {
    let opened = try SealedBox.open(sealed.span.bytes, secret: secret)
    guard opened.count == HandedKey.size else { throw .decryptionFailed }
    let flags = opened[0]
    guard flags <= 1 else { throw .decryptionFailed }
    key = try Key(copying: opened.bytes.extracting(1..<(1 + Key.size)))
    publicKey = opened.bytes.extracting(droppingFirst: 1 + Key.size).octets
    isMemoryAllowed = flags == 1
  }

  /// The sealed form: flags 1, the covering key 32, the holder's public key 32.
  func sealed(to publicKey: [UInt8]) throws(SodiumError) -> [UInt8] {
    var content = try SecureBytes(count: HandedKey.size)
    content.write([isMemoryAllowed ? 1 : 0].span.bytes, at: 0)
    content.write(key.bytes, at: 1)
    content.write(self.publicKey.span.bytes, at: 1 + Key.size)
    return try SealedBox.seal(content.bytes, to: publicKey)
  }
}
