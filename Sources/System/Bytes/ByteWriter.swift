/// Writes the fields that ``ByteReader`` reads. It is not for secrets, because its memory is not erased.
public struct ByteWriter {
  /// The bytes written so far.
  public var bytes: [UInt8] { contents }

  @usableFromInline var contents: [UInt8] = []

  /// An empty writer.
  public init() {}

  /// Makes an empty writer with room for `capacity` bytes, so that it need not copy them while it grows.
  public init(capacity: Int) {
    contents.reserveCapacity(capacity)
  }

  /// Adds bytes unchanged.
  public mutating func put(_ raw: [UInt8]) {
    contents += raw
  }

  /// Adds a number, little-endian.
  @inlinable
  public mutating func number<Number: FixedWidthInteger & UnsignedInteger>(_ value: Number) {
    withUnsafeBytes(of: value.littleEndian) { contents += $0 }
  }

  /// Adds bytes with their length in front as 16 bits. The caller keeps them below 64 KiB.
  public mutating func short(_ raw: [UInt8]) {
    precondition(raw.count <= Int(UInt16.max))
    number(UInt16(raw.count))
    contents += raw
  }

  /// Adds bytes with their length in front as 32 bits.
  public mutating func long(_ raw: [UInt8]) {
    precondition(raw.count <= Int(UInt32.max))
    number(UInt32(raw.count))
    contents += raw
  }

  /// Adds text with its length in front as 16 bits, cut at 64 KiB.
  public mutating func text(_ value: String) {
    short(Array(value.utf8.prefix(Int(UInt16.max))))
  }
}
