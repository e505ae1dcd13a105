import LatchkeyBytes
import LatchkeyControl

/// Hands over the next chunk of the backup that this connection restores. The answer says whether it was the last chunk.
package struct GiveChunk: ControlMessage {
  package typealias Answer = Bool
  package static let operation: UInt8 = 14
  package static let sizeLimit = ControlPacket.sizeLimit
  /// The chunk, without its length.
  package let bytes: [UInt8]

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  package init?(decoding input: inout ByteReader) {
    guard let bytes = try? input.take(input.remaining) else { return nil }
    self.bytes = bytes
  }

  package func encode(into out: inout ByteWriter) { out.put(bytes) }
}
