import LatchkeyBytes
import LatchkeyControl

/// Makes the daemon make a generation now. The answer comes when the generation is on the disk.
package struct MakeGeneration: FieldlessMessage {
  package typealias Answer = MadeGeneration
  package static let operation: UInt8 = 36
  package init() {}
}

/// The newest generation after this request.
package struct MadeGeneration: ControlFields, Equatable, Sendable {
  /// The generation's number.
  package let number: UInt32
  /// Whether the generation was made now. If not, nothing has changed since the last generation.
  package let isNew: Bool

  /// Makes a value from its parts.
  package init(number: UInt32, isNew: Bool) { (self.number, self.isNew) = (number, isNew) }

  package init?(decoding input: inout ByteReader) {
    guard let isNew = Bool(decoding: &input), let number = UInt32(decoding: &input) else { return nil }
    self.init(number: number, isNew: isNew)
  }

  package func encode(into out: inout ByteWriter) {
    isNew.encode(into: &out)
    out.number(number)
  }
}
