import LatchkeyBytes
import LatchkeyControl

/// Has a generation made now. The answer comes when the generation is on the disk.
package struct MakeGeneration: FieldlessMessage {
  package typealias Answer = MadeGeneration
  package static let operation: UInt8 = 36
  package init() {}
}

/// The newest generation after one was asked for.
package struct MadeGeneration: ControlFields, Equatable, Sendable {
  /// Its number.
  package let number: UInt32
  /// Whether it was made now. If not, nothing changed since the last one.
  package let isNew: Bool

  /// Puts them together.
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
