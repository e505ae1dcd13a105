import LatchkeySodium

/// A message that brings keys. Sender and receiver keep it in locked memory. It crosses the socket encrypted to a ``OneTimeKey``.
/// The answer is an ``UnlockOutcome``.
package protocol KeyMessage: ~Copyable {
  /// The message's number in a packet.
  static var operation: UInt8 { get }
  /// The bytes of `head`, and after them the bytes of the fields.
  borrowing func encoded(behind head: [UInt8]) throws(SodiumError) -> SecureBytes
  /// Reads the fields; nil if they have another size.
  init?(decoding fields: RawSpan)
}

extension KeyMessage where Self: ~Copyable {
  /// The whole packet, before it is sealed.
  borrowing func packet() throws(SodiumError) -> SecureBytes {
    try encoded(behind: ControlPacket.begin(Self.operation).bytes)
  }
}
