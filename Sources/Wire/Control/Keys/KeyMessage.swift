import LatchkeySodium

/// A message that brings keys. Sender and receiver hold it in locked memory; it crosses the socket sealed to a
/// ``OneTimeKey``. An ``UnlockOutcome`` answers it.
package protocol KeyMessage: ~Copyable {
  /// Its number in a packet.
  static var operation: UInt8 { get }
  /// The fields' bytes behind `head`.
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
