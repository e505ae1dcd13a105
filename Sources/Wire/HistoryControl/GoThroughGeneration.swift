import LatchkeyBytes
import LatchkeyControl

/// Continues, for a moment, the work that was begun on this connection.
package struct GoThroughGeneration: FieldlessMessage {
  package typealias Answer = GenerationProgress
  package static let operation: UInt8 = 39
  package init() {}
}

/// How far a comparison or a restore is.
package struct GenerationProgress: ControlFields, Equatable, Sendable {
  /// Whether there is more to look at.
  package let hasMore: Bool
  /// How many items were looked at.
  package let done: UInt64
  /// How many items there are, about.
  package let total: UInt64

  /// Puts them together.
  package init(hasMore: Bool, done: UInt64, total: UInt64) {
    (self.hasMore, self.done, self.total) = (hasMore, done, total)
  }

  package init?(decoding input: inout ByteReader) {
    guard let hasMore = Bool(decoding: &input), let done = UInt64(decoding: &input),
      let total = UInt64(decoding: &input)
    else { return nil }
    self.init(hasMore: hasMore, done: done, total: total)
  }

  package func encode(into out: inout ByteWriter) {
    hasMore.encode(into: &out)
    out.number(done)
    out.number(total)
  }
}
