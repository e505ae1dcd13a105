import Glibc
import LatchkeySecretClient
import LatchkeySodium
import LatchkeyText

/// The output of the commands with --json: always the same keys, and no control characters for a terminal.
enum JSONText {
  static func of(_ value: some Encodable) throws -> String {
    try JSONValue(value).text(isPretty: true)
  }

  /// A value as JSON in one line.
  static func line(of value: some Encodable) throws -> String {
    try JSONValue(value).text(isPretty: false)
  }

  /// Writes an item with its secret. A secret that is text is written as text, and any other secret in Base64. Only the metadata is
  /// ever a `String`.
  static func write(_ item: ListedItem, _ secret: Secret) throws {
    struct ContentType: Encodable { let content_type: String }
    let type = try of(ContentType(content_type: secret.contentType)).dropFirst(2).dropLast(2)
    try StandardStream.output.write(try of(item).dropLast(2) + ",\n" + type + ",\n  \"secret\" : ")
    let text = try value(of: secret)
    if secret.isText {
      try StandardStream.output.write(text.bytes)
      try StandardStream.output.write(",\n  \"secret_base64\" : null\n}\n")
    } else {
      try StandardStream.output.write("null,\n  \"secret_base64\" : ")
      try StandardStream.output.write(text.bytes)
      try StandardStream.output.write("\n}\n")
    }
  }

  /// A secret as a string: unchanged if the secret is text, or else in Base64.
  static func value(of secret: Secret) throws -> SecureBytes {
    if secret.isText { return try secret.withBytes { try quoted($0) } }
    let encoded = try secret.withBytes { try Base64.encode(secret: $0) }
    return try quoted(encoded.bytes)
  }

  /// A text, which must be valid UTF-8, as a string of JSON.
  private static func quoted(_ text: RawSpan) throws(SodiumError) -> SecureBytes {
    // The greatest size of each byte, and the quotes.
    let size = text.byteOffsets.reduce(2) { size, at in
      switch text[at] {
      case 0..<0x20, 0x7f, 0xc2: size + 6
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): size + 2
      default: size + 1
      }
    }
    var out = try SecureWriter(capacity: size)
    out.append(UInt8(ascii: "\""))
    var at = 0
    while at < text.byteCount {
      switch text[at] {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        out.append(UInt8(ascii: "\\"))
        out.append(text[at])
      case 0..<0x20, 0x7f: escape(text[at], to: &out)
      case 0xc2 where text[at + 1] < 0xa0:
        // U+0080 to U+009F.
        at += 1
        escape(text[at], to: &out)
      default: out.append(text[at])
      }
      at += 1
    }
    out.append(UInt8(ascii: "\""))
    return try out.finish()
  }

  private static func escape(_ value: UInt8, to out: inout SecureWriter) {
    for byte in "\\u00".utf8 { out.append(byte) }
    for half in [value >> 4, value & 15] { out.append(half < 10 ? 0x30 + half : 0x57 + half) }
  }
}
