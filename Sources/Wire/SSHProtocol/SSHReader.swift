import LatchkeySodium

/// A place in bytes that ssh's protocols define (RFC 4251, section 5). It holds no bytes, because they may be secret: each call
/// is given them. Never traps: a missing field throws ``Malformed``.
public struct SSHReader {
  /// The bytes are not what the protocol says.
  public struct Malformed: Error {
    /// An error without any more to say.
    public init() {}
  }

  /// Where the next field begins.
  public private(set) var position: Int
  /// Where the fields end.
  public let end: Int

  /// A reader of a range.
  public init(_ range: Range<Int>) { (position, end) = (range.lowerBound, range.upperBound) }

  /// Whether everything was read.
  public var isAtEnd: Bool { position == end }

  /// The range of the next `count` bytes.
  public mutating func take(_ count: Int) throws(Malformed) -> Range<Int> {
    guard count >= 0, count <= end - position else { throw Malformed() }
    defer { position += count }
    return position..<position + count
  }

  /// The next byte.
  public mutating func byte(_ bytes: RawSpan) throws(Malformed) -> UInt8 {
    let place = try take(1).lowerBound
    return bytes.withUnsafeBytes { $0[place] }
  }

  /// The next number of 32 bits.
  public mutating func number(_ bytes: RawSpan) throws(Malformed) -> UInt32 {
    let range = try take(4)
    return bytes.withUnsafeBytes { all in all[range].reduce(0) { $0 << 8 | UInt32($1) } }
  }

  /// The range of the next string's bytes.
  public mutating func string(_ bytes: RawSpan) throws(Malformed) -> Range<Int> {
    try take(Int(try number(bytes)))
  }

  /// The next string's bytes. Not for secrets.
  public mutating func octets(_ bytes: RawSpan) throws(Malformed) -> [UInt8] {
    let range = try string(bytes)
    return bytes.withUnsafeBytes { Array($0[range]) }
  }

  /// The next string as text; bytes that are not UTF-8 are replaced. Not for secrets.
  public mutating func text(_ bytes: RawSpan) throws(Malformed) -> String {
    String(decoding: try octets(bytes), as: UTF8.self)
  }

  /// A reader of the next string's fields.
  public mutating func fields(_ bytes: RawSpan) throws(Malformed) -> SSHReader { SSHReader(try string(bytes)) }
}

extension RawSpan {
  /// Bytes of a range. Not for secrets.
  func octets(_ range: Range<Int>) -> [UInt8] { withUnsafeBytes { Array($0[range]) } }
}
