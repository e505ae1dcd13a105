/// Why a text cannot be read as JSON.
public enum JSONError: Error, Equatable {
  /// The text does not follow RFC 8259, is not UTF-8, or names a key of an object twice.
  case malformed
  /// The values are nested too deeply.
  case tooDeep
}

extension JSONValue {
  /// Reads a text in UTF-8 that has one value. Never traps.
  public init(parsing bytes: [UInt8]) throws(JSONError) {
    guard String(validating: bytes, as: UTF8.self) != nil else { throw .malformed }
    var parser = JSONParser(bytes: bytes)
    self = try parser.value(depth: 0)
    guard parser.next() == nil else { throw .malformed }
  }
}

private struct JSONParser {
  private static let depthLimit = 64

  let bytes: [UInt8]
  private var at = 0

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// Returns the next byte that is not white space, but does not take it.
  mutating func next() -> UInt8? {
    while at < bytes.count {
      switch bytes[at] {
      case 0x20, 0x09, 0x0a, 0x0d: at += 1
      case let byte: return byte
      }
    }
    return nil
  }

  /// Takes the next byte that is not white space, if that byte is `character`.
  private mutating func takes(_ character: Unicode.Scalar) -> Bool {
    guard next() == UInt8(ascii: character) else { return false }
    at += 1
    return true
  }

  private mutating func expect(_ character: Unicode.Scalar) throws(JSONError) {
    guard takes(character) else { throw .malformed }
  }

  private mutating func expect(word: StaticString) throws(JSONError) {
    let isThere = word.withUTF8Buffer { word in bytes[at...].starts(with: word) }
    guard isThere else { throw .malformed }
    at += word.utf8CodeUnitCount
  }

  mutating func value(depth: Int) throws(JSONError) -> JSONValue {
    guard depth < Self.depthLimit else { throw .tooDeep }
    switch next() {
    case UInt8(ascii: "{"): return try object(depth)
    case UInt8(ascii: "["): return try array(depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"):
      try expect(word: "true")
      return .bool(true)
    case UInt8(ascii: "f"):
      try expect(word: "false")
      return .bool(false)
    case UInt8(ascii: "n"):
      try expect(word: "null")
      return .null
    default: return .number(try number())
    }
  }

  private mutating func object(_ depth: Int) throws(JSONError) -> JSONValue {
    try expect("{")
    var values: [String: JSONValue] = [:]
    guard !takes("}") else { return .object(values) }
    repeat {
      let name = try string()
      try expect(":")
      guard values.updateValue(try value(depth: depth + 1), forKey: name) == nil else { throw .malformed }
    } while takes(",")
    try expect("}")
    return .object(values)
  }

  private mutating func array(_ depth: Int) throws(JSONError) -> JSONValue {
    try expect("[")
    var values: [JSONValue] = []
    guard !takes("]") else { return .array(values) }
    repeat { values.append(try value(depth: depth + 1)) } while takes(",")
    try expect("]")
    return .array(values)
  }

  /// Takes a number: a minus sign, digits without a leading zero, a fraction, an exponent.
  private mutating func number() throws(JSONError) -> String {
    let start = at
    takeByte { $0 == UInt8(ascii: "-") }
    if !takeByte({ $0 == UInt8(ascii: "0") }) { try digits() }
    if takeByte({ $0 == UInt8(ascii: ".") }) { try digits() }
    if takeByte({ $0 | 0x20 == UInt8(ascii: "e") }) {
      takeByte { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") }
      try digits()
    }
    return String(decoding: bytes[start..<at], as: UTF8.self)
  }

  private mutating func digits() throws(JSONError) {
    let start = at
    while takeByte({ (0x30...0x39).contains($0) }) {}
    guard at > start else { throw .malformed }
  }

  @discardableResult
  private mutating func takeByte(_ fits: (UInt8) -> Bool) -> Bool {
    guard at < bytes.count, fits(bytes[at]) else { return false }
    at += 1
    return true
  }

  private mutating func string() throws(JSONError) -> String {
    try expect("\"")
    var octets: [UInt8] = []
    while at < bytes.count {
      let byte = bytes[at]
      at += 1
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: octets, as: UTF8.self)
      case UInt8(ascii: "\\"): octets += String(Character(try escaped())).utf8
      case 0..<0x20: throw .malformed
      default: octets.append(byte)
      }
    }
    throw .malformed
  }

  /// Reads the rest of an escape, after the backslash, and returns the character that the escape stands for.
  private mutating func escaped() throws(JSONError) -> Unicode.Scalar {
    guard at < bytes.count else { throw .malformed }
    let kind = Unicode.Scalar(bytes[at])
    at += 1
    switch kind {
    case "\"", "\\", "/": return kind
    case "b": return "\u{8}"
    case "f": return "\u{c}"
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "u": break
    default: throw .malformed
    }
    let first = try unit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    // A character with more than 16 bits takes two escapes.
    try expect(word: "\\u")
    let second = try unit()
    guard (0xd800...0xdbff).contains(first), (0xdc00...0xdfff).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
    else { throw .malformed }
    return scalar
  }

  private mutating func unit() throws(JSONError) -> UInt32 {
    guard at + 4 <= bytes.count else { throw .malformed }
    var value: UInt32 = 0
    for byte in bytes[at..<(at + 4)] {
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw .malformed }
      value = value << 4 | UInt32(digit)
    }
    at += 4
    return value
  }
}
