import LatchkeyBytes
import LatchkeySodium

/// The key of a passphrase, which the helper sends to the daemon for one prompt.
public struct PassphraseKey: KeyMessage, ~Copyable {
  package static let operation: UInt8 = 8

  /// The prompt's number.
  public let prompt: UInt64
  /// Argon2id's result.
  public let key: Key

  private static let headSize = 8
  static let size = headSize + Key.size

  /// Makes a value from its parts.
  public init(prompt: UInt64, key: consuming Key) {
    self.prompt = prompt
    self.key = key
  }

  /// Gives the key to another owner.
  public consuming func takeKey() -> Key { key }

  package borrowing func encoded(behind head: [UInt8]) throws(SodiumError) -> SecureBytes {
    var out = ByteWriter()
    out.put(head)
    out.number(prompt)
    var packet = try SecureBytes(count: head.count + PassphraseKey.size)
    packet.write(out.bytes.span.bytes, at: 0)
    packet.write(key.bytes, at: out.bytes.count)
    return packet
  }

  package init?(decoding packet: RawSpan) {
    guard packet.byteCount == PassphraseKey.size else { return nil }
    var head = ByteReader(packet.extracting(first: PassphraseKey.headSize).octets)
    guard let prompt = try? head.number(UInt64.self),
      let key = try? Key(copying: packet.extracting(droppingFirst: PassphraseKey.headSize))
    else { return nil }
    self.init(prompt: prompt, key: key)
  }
}
