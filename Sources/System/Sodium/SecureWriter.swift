/// Writes a secret byte by byte into locked memory, if its size is known only at the end.
public struct SecureWriter: ~Copyable {
  @usableFromInline var bytes: SecureBytes
  @usableFromInline var filled = 0

  /// How many bytes were written.
  public var count: Int { filled }

  /// A writer with room for `capacity` bytes, which is never less than will be written.
  ///
  /// - Throws: ``SodiumError/outOfMemory``.
  public init(capacity: Int) throws(SodiumError) { bytes = try SecureBytes(count: capacity) }

  /// Adds a byte.
  @inlinable
  public mutating func append(_ octet: UInt8) {
    bytes[filled] = octet
    filled += 1
  }

  /// Adds bytes.
  public mutating func append(_ more: RawSpan) {
    bytes.write(more, at: filled)
    filled += more.byteCount
  }

  /// The bytes that were written.
  public consuming func finish() throws(SodiumError) -> SecureBytes {
    let written = filled
    return try bytes.prefix(written)
  }
}
