import LatchkeySodium

/// An item's passphrase that a program gave in the place of the person; erased with the last reference. The daemon hands it to
/// what shows the prompt, sealed, and both hold the opened packet in locked memory.
public final class GivenPassphrase {
  /// The passphrase, without an end.
  public let bytes: SecureBytes

  /// The longest one: what a person can type in answer to PAM.
  public static let limit = 511

  /// A copy of `source`; nil for what nobody could type: nothing, too much, or a NUL.
  init?(copying source: RawSpan) throws(SodiumError) {
    guard (1...GivenPassphrase.limit).contains(source.byteCount), !source.withUnsafeBytes({ $0.contains(0) }) else {
      return nil
    }
    bytes = try SecureBytes(copying: source)
  }

  /// The same of what somebody else owns.
  public convenience init?(copying source: borrowing SecureBytes) throws(SodiumError) {
    try self.init(copying: source.bytes)
  }

  /// The reply's bytes, before they are sealed.
  func encoded() throws(SodiumError) -> SecureBytes {
    let head = ControlPacket.begin(.takePassphrase).bytes
    var packet = try SecureBytes(count: head.count + bytes.count)
    packet.write(head.span.bytes, at: 0)
    packet.write(0..<bytes.count, of: bytes, at: head.count)
    return packet
  }

  /// Reads an opened reply; nil for anything else.
  static func read(_ packet: RawSpan) -> GivenPassphrase? {
    let head = ControlPacket.begin(.takePassphrase).bytes
    guard packet.byteCount > head.count else { return nil }
    for (index, byte) in head.enumerated() where packet.unsafeLoad(fromByteOffset: index, as: UInt8.self) != byte {
      return nil
    }
    let rest = packet.extracting(droppingFirst: head.count)
    do { return try GivenPassphrase(copying: rest) } catch { return nil }
  }
}
