import LatchkeySodium
import LatchkeyText

/// Reads the XML that KeePassXC writes, in memory for secrets: elements, attributes and text. It refuses document types, CDATA
/// sections, and all but the usual entities.
struct MarkupReader {
  /// The next part of the document.
  enum Event {
    /// A tag that opens an element. The second value is the place of its attributes.
    case start(String, Range<Int>)
    /// The text between two tags, with its entities unresolved.
    case text(Range<Int>)
    case end(String)
  }

  private var at = 0
  /// The name of an element with a single tag, such as `<a/>`.
  private var closed: String?

  /// The next event; nil at the end.
  mutating func next(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> Event? {
    if let name = closed.take() { return .end(name) }
    while at < bytes.count {
      let open = bytes.index(of: UInt8(ascii: "<"), in: at..<bytes.count) ?? bytes.count
      if open > at {
        defer { at = open }
        return .text(at..<open)
      }
      guard let close = bytes.index(of: UInt8(ascii: ">"), in: open..<bytes.count), close > open + 1 else {
        throw .damaged
      }
      at = close + 1
      switch bytes.octet(open + 1) {
      case UInt8(ascii: "?"): continue
      case UInt8(ascii: "!"): throw .damaged
      case UInt8(ascii: "/"): return .end(try name(bytes, (open + 2)..<close))
      default:
        let isWhole = bytes.octet(close - 1) == UInt8(ascii: "/")
        let inner = (open + 1)..<(isWhole ? close - 1 : close)
        let space = bytes.index(of: UInt8(ascii: " "), in: inner) ?? inner.upperBound
        let name = try name(bytes, inner.lowerBound..<space)
        if isWhole { closed = name }
        return .start(name, space..<inner.upperBound)
      }
    }
    return nil
  }

  private func name(_ bytes: borrowing SecureBytes, _ range: Range<Int>) throws(ForeignFileError) -> String {
    guard (1...64).contains(range.count), let name = bytes.text(range) else { throw .damaged }
    return name
  }

  /// The value of an attribute, which is not secret; nil if it is missing.
  static func attribute(_ name: String, in range: Range<Int>, _ bytes: borrowing SecureBytes) -> String? {
    guard range.count <= 4096, let text = bytes.text(range), let start = text.firstRange(ofText: " \(name)=\"") else {
      return nil
    }
    return text[start.upperBound...].firstIndex(of: "\"").map { String(text[start.upperBound..<$0]) }
  }

  /// The text, in which each entity is replaced by its character.
  static func secret(_ bytes: borrowing SecureBytes, _ range: Range<Int>) throws(ForeignFileError) -> SecureBytes {
    var writer = try SecretWriter(capacity: range.count)
    var at = range.lowerBound
    while at < range.upperBound {
      let octet = bytes.octet(at)
      at += 1
      guard octet == UInt8(ascii: "&") else {
        writer.append(octet: octet)
        continue
      }
      guard let end = bytes.index(of: UInt8(ascii: ";"), in: at..<min(at + 12, range.upperBound)),
        let entity = bytes.text(at..<end), let scalar = scalar(entity)
      else { throw .damaged }
      writer.append(scalar)
      at = end + 1
    }
    return try writer.finish()
  }

  private static func scalar(_ entity: String) -> Unicode.Scalar? {
    switch entity {
    case "lt": "<"
    case "gt": ">"
    case "amp": "&"
    case "quot": "\""
    case "apos": "'"
    default:
      if entity.hasPrefix("#x") {
        UInt32(entity.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
      } else if entity.hasPrefix("#") {
        UInt32(entity.dropFirst()).flatMap(Unicode.Scalar.init)
      } else {
        nil
      }
    }
  }
}
