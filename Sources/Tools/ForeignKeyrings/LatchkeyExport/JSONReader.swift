import LatchkeySodium

/// Reads JSON (RFC 8259) in memory for secrets. It knows its place in the text, and makes values only for the fields that its
/// caller wants. It never traps: invalid JSON is an error.
struct JSONReader {
  /// How deeply values may be nested.
  private static let depthLimit = 32

  /// A string: its place without its quotes, and whether anything in it is escaped.
  struct Text {
    let range: Range<Int>
    let hasEscapes: Bool
  }

  private var at = 0
  /// For each object and array around this place, whether it is still unread; the innermost is last.
  private var isFresh: [Bool] = []

  /// The first byte of the next part; nil at the end.
  mutating func next(_ bytes: borrowing SecureBytes) -> UInt8? {
    while at < bytes.count {
      switch bytes.octet(at) {
      case 0x20, 0x09, 0x0a, 0x0d: at += 1
      case let octet: return octet
      }
    }
    return nil
  }

  /// Passes over a character that must come next.
  mutating func expect(_ character: Unicode.Scalar, _ bytes: borrowing SecureBytes) throws(ForeignFileError) {
    guard next(bytes) == UInt8(ascii: character) else { throw .damaged }
    at += 1
  }

  /// Begins an object (`{`) or an array (`[`).
  mutating func begin(_ character: Unicode.Scalar, _ bytes: borrowing SecureBytes) throws(ForeignFileError) {
    try expect(character, bytes)
    guard isFresh.count < Self.depthLimit else { throw .tooLarge }
    isFresh.append(true)
  }

  /// Moves to the next value, or past the end.
  ///
  /// - Parameter end: the character that ends it: `}` or `]`.
  /// - Returns: whether there is one more value.
  mutating func hasNext(until end: Unicode.Scalar, _ bytes: borrowing SecureBytes) throws(ForeignFileError) -> Bool {
    guard let isFirst = isFresh.popLast() else { throw .damaged }
    if next(bytes) == UInt8(ascii: end) {
      at += 1
      return false
    }
    if !isFirst { try expect(",", bytes) }
    isFresh.append(false)
    return true
  }

  /// The next name in an object, whose value comes next; nil after the last name.
  mutating func nextName(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> String? {
    guard try hasNext(until: "}", bytes) else { return nil }
    let name = try plain(bytes)
    try expect(":", bytes)
    return name
  }

  /// A string.
  mutating func text(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> Text {
    try expect("\"", bytes)
    let start = at
    var hasEscapes = false
    while at < bytes.count {
      let octet = bytes.octet(at)
      at += 1
      switch octet {
      case UInt8(ascii: "\""): return Text(range: start..<(at - 1), hasEscapes: hasEscapes)
      case UInt8(ascii: "\\"):
        hasEscapes = true
        at += 1
      case 0..<0x20: throw .damaged
      default: break
      }
    }
    throw .damaged
  }

  /// A string, or nil for `null`.
  mutating func optionalText(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> Text? {
    guard next(bytes) == UInt8(ascii: "n") else { return try text(bytes) }
    try word("null", bytes)
    return nil
  }

  /// A string that is not secret. A NUL in it is an error, because texts of items cannot hold one.
  mutating func plain(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> String {
    let value = try Self.secret(try text(bytes), bytes)
    guard !value.bytes.contains(0) else { throw .damaged }
    return value.bytes.text
  }

  /// A whole number that is not negative.
  mutating func number(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> UInt64 {
    _ = next(bytes)
    let start = at
    while at < bytes.count, (0x30...0x39).contains(bytes.octet(at)) { at += 1 }
    guard start < at, let text = bytes.text(start..<at), let value = UInt64(text), String(value) == text else {
      throw .damaged
    }
    return value
  }

  private mutating func word(_ word: String, _ bytes: borrowing SecureBytes) throws(ForeignFileError) {
    let end = at + word.utf8.count
    guard end <= bytes.count, bytes.text(at..<end) == word else { throw .damaged }
    at = end
  }

  /// Skips a value of any kind.
  mutating func skip(_ bytes: borrowing SecureBytes) throws(ForeignFileError) {
    switch next(bytes) {
    case UInt8(ascii: "{"):
      try begin("{", bytes)
      while try nextName(bytes) != nil { try skip(bytes) }
    case UInt8(ascii: "["):
      try begin("[", bytes)
      while try hasNext(until: "]", bytes) { try skip(bytes) }
    case UInt8(ascii: "\""): _ = try text(bytes)
    case UInt8(ascii: "t"): try word("true", bytes)
    case UInt8(ascii: "f"): try word("false", bytes)
    case UInt8(ascii: "n"): try word("null", bytes)
    default:
      let start = at
      while at < bytes.count, "+-.0123456789eE".utf8.contains(bytes.octet(at)) { at += 1 }
      guard start < at else { throw .damaged }
    }
  }

  /// Nothing may follow the first value.
  mutating func expectEnd(_ bytes: borrowing SecureBytes) throws(ForeignFileError) {
    guard next(bytes) == nil, isFresh.isEmpty else { throw .damaged }
  }

  // MARK: - secrets

  /// The value of a string.
  static func secret(_ text: Text, _ bytes: borrowing SecureBytes) throws(ForeignFileError) -> SecureBytes {
    guard text.hasEscapes else { return try bytes.part(text.range) }
    var writer = try SecretWriter(capacity: text.range.count)
    var at = text.range.lowerBound
    while at < text.range.upperBound {
      let octet = bytes.octet(at)
      at += 1
      guard octet == UInt8(ascii: "\\") else {
        writer.append(octet: octet)
        continue
      }
      guard at < text.range.upperBound else { throw .damaged }
      let kind = bytes.octet(at)
      at += 1
      switch kind {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): writer.append(octet: kind)
      case UInt8(ascii: "b"): writer.append(octet: 0x08)
      case UInt8(ascii: "f"): writer.append(octet: 0x0c)
      case UInt8(ascii: "n"): writer.append(octet: 0x0a)
      case UInt8(ascii: "r"): writer.append(octet: 0x0d)
      case UInt8(ascii: "t"): writer.append(octet: 0x09)
      case UInt8(ascii: "u"): writer.append(try scalar(&at, text.range.upperBound, bytes))
      default: throw .damaged
      }
    }
    return try writer.finish()
  }

  /// The character after `\u`. A character of more than 16 bits takes a second escape.
  private static func scalar(
    _ at: inout Int, _ end: Int, _ bytes: borrowing SecureBytes
  ) throws(ForeignFileError) -> Unicode.Scalar {
    let first = try unit(&at, end, bytes)
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard at + 2 <= end, bytes.text(at..<(at + 2)) == "\\u" else { throw .damaged }
    at += 2
    let second = try unit(&at, end, bytes)
    guard (0xd800...0xdbff).contains(first), (0xdc00...0xdfff).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
    else { throw .damaged }
    return scalar
  }

  private static func unit(
    _ at: inout Int, _ end: Int, _ bytes: borrowing SecureBytes
  ) throws(ForeignFileError) -> UInt32 {
    guard at + 4 <= end else { throw .damaged }
    var value: UInt32 = 0
    for place in at..<(at + 4) {
      guard let digit = Character(Unicode.Scalar(bytes.octet(place))).hexDigitValue else { throw .damaged }
      value = value << 4 | UInt32(digit)
    }
    at += 4
    return value
  }
}
