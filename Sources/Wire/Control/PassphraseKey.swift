import LatchkeyBytes
import LatchkeySodium

/// The key that a passphrase gave, on its way from the helper to the daemon, for one prompt. Sender and receiver hold the
/// packet in locked memory; it crosses the control socket sealed (``OneTimeKey``).
public struct PassphraseKey: ~Copyable {
  /// The prompt's number.
  public let prompt: UInt64
  /// Argon2id's result.
  public let key: Key

  private static let headSize = 8
  static let size = headSize + Key.size

  /// Puts them together.
  public init(prompt: UInt64, key: consuming Key) {
    self.prompt = prompt
    self.key = key
  }

  /// Gives the key on to another owner.
  public consuming func takeKey() -> Key { key }

  /// The packet's bytes, behind a version and an operation.
  borrowing func encoded(prefix: [UInt8]) throws(SodiumError) -> SecureBytes {
    var head = ByteWriter()
    head.put(prefix)
    head.number(prompt)
    var packet = try SecureBytes(count: prefix.count + PassphraseKey.size)
    packet.write(head.bytes.span.bytes, at: 0)
    packet.write(key.bytes, at: head.bytes.count)
    return packet
  }

  /// Reads what follows version and operation; nil for a packet of another size.
  init?(decoding packet: RawSpan) {
    guard packet.byteCount == PassphraseKey.size else { return nil }
    var head = ByteReader(packet.extracting(first: PassphraseKey.headSize).withUnsafeBytes { Array($0) })
    guard let prompt = try? head.number(UInt64.self),
      let key = try? Key(copying: packet.extracting(droppingFirst: PassphraseKey.headSize))
    else { return nil }
    self.init(prompt: prompt, key: key)
  }
}
