import LatchkeySodium

/// A growing text with secrets in it.
public struct SecretText: ~Copyable {
  private var bytes: SecureBytes
  /// The number of bytes.
  public private(set) var count = 0

  /// Empty text.
  ///
  /// - Parameter capacity: the number of bytes for which the text has room before it must move to larger memory.
  public init(capacity: Int = 64 << 10) throws(SodiumError) { bytes = try SecureBytes(count: capacity) }

  /// Appends bytes.
  public mutating func append(_ more: RawSpan) throws(SodiumError) {
    if bytes.count - count < more.byteCount {
      var larger = try SecureBytes(count: max(2 * bytes.count, count + more.byteCount))
      larger.write(bytes.bytes.extracting(first: count), at: 0)
      bytes = larger
    }
    bytes.write(more, at: count)
    count += more.byteCount
  }

  /// Appends text that is not secret.
  public mutating func append(_ text: String) throws(SodiumError) { try append(Array(text.utf8).span.bytes) }

  /// The whole text.
  public consuming func finish() throws(SodiumError) -> SecureBytes {
    let written = count
    return try bytes.prefix(written)
  }
}
