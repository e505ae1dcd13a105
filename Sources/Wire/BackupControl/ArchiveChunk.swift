import LatchkeyBytes
import LatchkeyControl

/// The next bytes of a backup. They reveal nothing without the backup's passphrase.
package struct ArchiveChunk: ControlFields, Equatable, Sendable {
  /// The next part of the file.
  package let bytes: [UInt8]
  /// Whether this is the last chunk.
  package let isLast: Bool
  /// The number of items that the backup has handled.
  package let done: UInt64
  /// About how many items there are.
  package let total: UInt64

  /// Makes a value from its parts.
  package init(bytes: [UInt8], isLast: Bool, done: UInt64, total: UInt64) {
    self.bytes = bytes
    self.isLast = isLast
    self.done = done
    self.total = total
  }

  package func encode(into out: inout ByteWriter) {
    out.number(UInt8(isLast ? 1 : 0))
    out.number(done)
    out.number(total)
    out.put(bytes)
  }

  package init?(decoding input: inout ByteReader) {
    guard let isLast = try? input.number(UInt8.self), isLast <= 1, let done = try? input.number(UInt64.self),
      let total = try? input.number(UInt64.self), let bytes = try? input.take(input.remaining)
    else { return nil }
    self.init(bytes: bytes, isLast: isLast == 1, done: done, total: total)
  }
}
