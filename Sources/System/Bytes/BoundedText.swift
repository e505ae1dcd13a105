/// Text of a limited length in packets.
extension ByteWriter {
  /// Adds text with its length in front, cut between characters (Unicode scalars) to at most `limit` bytes.
  public mutating func text(_ value: String, limit: Int) {
    let bytes = value.utf8
    guard bytes.count > limit else { return text(value) }
    var end = bytes.index(bytes.startIndex, offsetBy: limit)
    while end > bytes.startIndex, bytes[end] & 0xC0 == 0x80 { bytes.formIndex(before: &end) }
    short(Array(bytes[..<end]))
  }
}

extension ByteReader {
  /// The next text; nil when the text is missing, or longer than `limit` bytes.
  public mutating func text(limit: Int) -> String? {
    guard let bytes = try? short(), bytes.count <= limit else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }
}
