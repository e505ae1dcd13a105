import LatchkeySodium

/// A place in bytes that ssh's protocols define (RFC 4251, section 5). It holds no bytes, because they may be secret, so each call
/// gets them as an argument. It never traps: a missing field throws ``Malformed``.
public struct SSHReader {
  /// The bytes do not follow the protocol.
  public struct Malformed: Error {
    /// An error without details.
    public init() {}
  }

  /// The place where the next field begins.
  public private(set) var position: Int
  /// The place where the fields end.
  public let end: Int

  /// A reader of the bytes in a range.
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
    return bytes[place]
  }

  /// The next number of 32 bits.
  public mutating func number(_ bytes: RawSpan) throws(Malformed) -> UInt32 {
    let range = try take(4)
    return range.reduce(0) { $0 << 8 | UInt32(bytes[$1]) }
  }

  /// The range of the next string's bytes.
  public mutating func string(_ bytes: RawSpan) throws(Malformed) -> Range<Int> {
    try take(Int(try number(bytes)))
  }

  /// The next string's bytes. Do not use this for secrets, because it copies them.
  public mutating func octets(_ bytes: RawSpan) throws(Malformed) -> [UInt8] {
    let range = try string(bytes)
    return bytes.octets(range)
  }

  /// The next string as text; invalid bytes are replaced. Do not use this for secrets, because it copies them.
  public mutating func text(_ bytes: RawSpan) throws(Malformed) -> String {
    String(decoding: try octets(bytes), as: UTF8.self)
  }

  /// A reader of the next string's fields.
  public mutating func fields(_ bytes: RawSpan) throws(Malformed) -> SSHReader { SSHReader(try string(bytes)) }
}
