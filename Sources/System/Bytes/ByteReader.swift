/// Reads fields from untrusted bytes. Never traps: a missing field throws ``Truncated``.
public struct ByteReader {
  /// The bytes ended before the field did.
  public struct Truncated: Error {
    @usableFromInline init() {}
  }

  @usableFromInline let bytes: [UInt8]
  @usableFromInline var offset: Int

  /// The number of bytes that were read.
  public var position: Int { offset }

  /// A reader at the start of `bytes`, which hold no secret.
  public init(_ bytes: [UInt8]) {
    self.bytes = bytes
    offset = 0
  }

  /// The number of bytes that are left.
  @inlinable public var remaining: Int { bytes.count - offset }

  /// The next `count` bytes.
  public mutating func take(_ count: Int) throws(Truncated) -> [UInt8] {
    guard count >= 0, count <= remaining else { throw Truncated() }
    defer { offset += count }
    return Array(bytes[offset..<(offset + count)])
  }

  /// The next unsigned number, little-endian, in as many bytes as its type has.
  @inlinable
  public mutating func number<Number: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
    _ type: Number.Type = Number.self
  ) throws(Truncated) -> Number {
    let size = Number.bitWidth / 8
    guard size <= remaining else { throw Truncated() }
    defer { offset += size }
    return bytes.withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Number.self)) }
  }

  /// The next bytes, with their length in front as 16 bits.
  public mutating func short() throws(Truncated) -> [UInt8] {
    try take(Int(try number(UInt16.self)))
  }

  /// The next bytes, with their length in front as 32 bits.
  public mutating func long() throws(Truncated) -> [UInt8] {
    try take(Int(try number(UInt32.self)))
  }

  /// The next text, with its length in front as 16 bits; bytes that are not UTF-8 are replaced.
  public mutating func text() throws(Truncated) -> String {
    String(decoding: try short(), as: UTF8.self)
  }
}
