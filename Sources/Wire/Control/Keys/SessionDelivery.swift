import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// Only tier key C, which the helper sends to the daemon after a login in which nobody gave a password.
public struct SessionDelivery: KeyMessage, ~Copyable {
  package static let operation: UInt8 = 30

  /// The vault that the key is for: 16 bytes.
  public let vault: [UInt8]
  /// The key, and its key epoch.
  public let key: SessionKey

  // The vault, and the key's epoch.
  private static let headSize = 16 + 4
  static let size = headSize + Key.size

  /// Makes a value from its parts.
  public init(vault: [UInt8], key: consuming SessionKey) {
    self.vault = vault
    self.key = key
  }

  /// Gives the key to another owner.
  public consuming func takeKey() -> SessionKey { key }

  package borrowing func encoded(behind head: [UInt8]) throws(SodiumError) -> SecureBytes {
    var out = ByteWriter()
    out.put(head)
    out.put(vault)
    out.number(key.epoch)
    var packet = try SecureBytes(count: head.count + SessionDelivery.size)
    packet.write(out.bytes.span.bytes, at: 0)
    packet.write(key.key.bytes, at: out.bytes.count)
    return packet
  }

  package init?(decoding packet: RawSpan) {
    guard packet.byteCount == SessionDelivery.size else { return nil }
    var head = ByteReader(packet.extracting(first: SessionDelivery.headSize).octets)
    guard let vault = try? head.take(16), let epoch = try? head.number(UInt32.self),
      let key = try? Key(copying: packet.extracting(droppingFirst: SessionDelivery.headSize))
    else { return nil }
    self.init(vault: vault, key: SessionKey(epoch: epoch, key: key))
  }
}
