import LatchkeySodium

/// Text as Qt writes it, UTF-16 with the high byte first. A lone surrogate becomes U+FFFD.
struct WideText {
  private let range: Range<Int>

  /// The range of no text, nil, is empty.
  init(_ range: Range<Int>?) { self.range = range ?? 0..<0 }

  /// Calls `body` with one scalar after the other.
  func scalars(_ bytes: borrowing SecureBytes, _ body: (Unicode.Scalar) -> Void) {
    let end = range.lowerBound + range.count / 2 * 2
    var at = range.lowerBound
    func unit(_ place: Int) -> UInt32 { UInt32(bytes.octet(place)) << 8 | UInt32(bytes.octet(place + 1)) }
    while at < end {
      let first = unit(at)
      at += 2
      if (0xd800..<0xdc00).contains(first), at < end, (0xdc00..<0xe000).contains(unit(at)),
        let scalar = Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (unit(at) - 0xdc00))
      {
        at += 2
        body(scalar)
      } else {
        body(Unicode.Scalar(first) ?? "\u{FFFD}")
      }
    }
  }

  /// The text, for texts that are not secret.
  func text(_ bytes: borrowing SecureBytes) -> String {
    var text = ""
    scalars(bytes) { text.unicodeScalars.append($0) }
    return text
  }
}

/// Writes a secret whose size is not known before into locked memory.
struct SecretWriter: ~Copyable {
  private var bytes: SecureBytes
  private var count = 0

  /// - Parameter capacity: never less than the number of written bytes; the rest is dropped.
  init(capacity: Int) throws(ForeignFileError) {
    do { bytes = try SecureBytes(count: capacity) } catch { throw .noMemory }
  }

  mutating func append(_ scalar: Unicode.Scalar) {
    for octet in scalar.utf8 { append(octet: octet) }
  }

  mutating func append(octet: UInt8) {
    guard count < bytes.count else { return }
    bytes[count] = octet
    count += 1
  }

  /// The text as a string of JSON, with the escapes that Qt writes.
  mutating func appendQuoted(_ text: WideText, of source: borrowing SecureBytes) {
    append("\"")
    text.scalars(source) { scalar in
      switch scalar {
      case "\"", "\\":
        append("\\")
        append(scalar)
      case "\u{8}": append(escape: "b")
      case "\u{c}": append(escape: "f")
      case "\n": append(escape: "n")
      case "\r": append(escape: "r")
      case "\t": append(escape: "t")
      case "\0"..<" ":
        append(escape: "u")
        append("0")
        append("0")
        append(scalar.value < 16 ? "0" : "1")
        append(Unicode.Scalar(UInt8(scalar.value % 16) + (scalar.value % 16 < 10 ? 0x30 : 0x57)))
      default: append(scalar)
      }
    }
    append("\"")
  }

  private mutating func append(escape: Unicode.Scalar) {
    append("\\")
    append(escape)
  }

  /// The bytes that were written.
  consuming func finish() throws(ForeignFileError) -> SecureBytes {
    let written = count
    do { return try bytes.prefix(written) } catch { throw .noMemory }
  }
}
