import LatchkeyBytes
import LatchkeyControl

/// Continues the work of this connection for a short time.
package struct GoThroughGeneration: FieldlessMessage {
  package typealias Answer = GenerationProgress
  package static let operation: UInt8 = 39
  package init() {}
}

/// The progress of the work on generations.
package struct GenerationProgress: ControlFields, Equatable, Sendable {
  /// Whether the work has not ended yet.
  package let hasMore: Bool
  /// The number of items that are done.
  package let done: UInt64
  /// About how many items there are.
  package let total: UInt64

  /// Makes a value from its parts.
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
