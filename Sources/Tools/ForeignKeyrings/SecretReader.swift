import LatchkeySodium

/// Reads fields from untrusted bytes that hold secrets. It knows its place in the bytes, and borrows them for each field. It never
/// traps: a missing field is an error.
struct SecretReader {
  private(set) var offset: Int
  private let end: Int

  /// Reads within `range`, which must be inside the lent bytes.
  init(_ range: Range<Int>) {
    (offset, end) = (range.lowerBound, range.upperBound)
  }

  /// The number of bytes that are left.
  var remaining: Int { end - offset }

  /// The place of the next `count` bytes.
  mutating func range(_ count: Int) throws(ForeignFileError) -> Range<Int> {
    guard count >= 0, count <= remaining else { throw .damaged }
    defer { offset += count }
    return offset..<(offset + count)
  }

  /// The next unsigned number, big-endian.
  mutating func number(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> UInt32 {
    let place = try range(4)
    let all = bytes.bytes
    return place.reduce(0) { $0 << 8 | UInt32(all[$1]) }
  }

  /// The next unsigned number of up to 8 bytes, little-endian.
  mutating func littleEndian(_ size: Int, _ bytes: borrowing SecureBytes) throws(ForeignFileError) -> UInt64 {
    let place = try range(size)
    let all = bytes.bytes
    return place.reversed().reduce(0) { $0 << 8 | UInt64(all[$1]) }
  }

  /// The next moment, in seconds since 1970.
  mutating func time(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> UInt64 {
    let high = try number(bytes)
    return UInt64(high) << 32 | UInt64(try number(bytes))
  }

  /// The place of the next bytes, which follow their length; nil for a length with every bit set, which means that there are no
  /// bytes.
  mutating func counted(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> Range<Int>? {
    let count = try number(bytes)
    return count == .max ? nil : try range(Int(count))
  }

  /// The next text with its length in front; empty if there is no text.
  mutating func text(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> String {
    guard let place = try counted(bytes) else { return "" }
    guard let text = bytes.text(place) else { throw .damaged }
    return text
  }
}

extension SecureBytes {
  /// A part that is not secret, as text; nil if it is not UTF-8.
  borrowing func text(_ range: Range<Int>) -> String? {
    bytes.extracting(range).validText
  }

  /// A copy of a part.
  borrowing func part(_ range: Range<Int>) throws(ForeignFileError) -> SecureBytes {
    do { return try SecureBytes(copying: bytes.extracting(range)) } catch { throw .noMemory }
  }
}
