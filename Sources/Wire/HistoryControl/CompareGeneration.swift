import LatchkeyBytes
import LatchkeyControl

/// Begins to compare the vault with a generation, on this connection. The comparison ends with the connection.
/// ``GoThroughGeneration`` continues it.
package struct CompareGeneration: ControlMessage {
  package typealias Answer = Done
  package static let operation: UInt8 = 37
  /// The number of the generation; 0 for the newest.
  package let number: UInt32

  package init(number: UInt32) { self.number = number }

  package init?(decoding input: inout ByteReader) {
    guard let number = UInt32(decoding: &input) else { return nil }
    self.number = number
  }

  package func encode(into out: inout ByteWriter) { out.number(number) }
}
