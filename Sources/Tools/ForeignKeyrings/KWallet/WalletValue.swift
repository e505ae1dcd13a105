import LatchkeySodium

/// The value of an entry, in Qt's form, in which KWallet gives it to its clients. ``WalletContent`` reads this form.
public enum WalletValue {
  /// A text in UTF-8 as Qt writes a string.
  public static func string(_ text: borrowing SecureBytes) throws(ForeignFileError) -> SecureBytes {
    // Two bytes for each byte of UTF-8 are always enough, and the length of the text takes four bytes.
    var writer = try SecretWriter(capacity: 2 * text.count + 4)
    writer.append(wide: text)
    return try writer.finish()
  }

  /// An object of JSON as Qt writes a map of texts; a value that is not text is empty, as KDE's programs read it. Nil for any other
  /// text.
  public static func map(_ json: borrowing SecureBytes) throws(ForeignFileError) -> SecureBytes? {
    // A quoted text has two quotes, for whose four bytes its length stands; any other value has a comma or a colon beside it.
    var writer = try SecretWriter(capacity: 2 * json.count + 16)
    let count: UInt32
    do throws(ForeignFileError) { count = try write(json, to: &writer) } catch {
      guard error == .damaged || error == .tooLarge else { throw error }
      return nil
    }
    let pairs = try writer.finish()
    var head = try SecretWriter(capacity: pairs.count + 4)
    head.append(number: count)
    for place in 0..<pairs.count { head.append(octet: pairs[place]) }
    return try head.finish()
  }

  private static func write(
    _ json: borrowing SecureBytes, to writer: inout SecretWriter
  ) throws(ForeignFileError) -> UInt32 {
    var reader = JSONReader()
    var count: UInt32 = 0
    try reader.begin("{", json)
    while try reader.hasNext(until: "}", json) {
      writer.append(wide: try JSONReader.secret(try reader.text(json), json))
      try reader.expect(":", json)
      if reader.next(json) == UInt8(ascii: "\"") {
        writer.append(wide: try JSONReader.secret(try reader.text(json), json))
      } else {
        try reader.skip(json)
        writer.append(number: 0)
      }
      count += 1
    }
    try reader.expectEnd(json)
    return count
  }
}

extension SecretWriter {
  /// A number, the high byte first.
  mutating func append(number: UInt32) {
    for shift: UInt32 in [24, 16, 8, 0] { append(octet: UInt8(truncatingIfNeeded: number >> shift)) }
  }

  /// A text in UTF-8 as UTF-16, the high byte first, behind its size in bytes.
  mutating func append(wide text: borrowing SecureBytes) {
    var size: UInt32 = 0
    Self.units(text) { _ in size += 2 }
    append(number: size)
    Self.units(text) { unit in
      append(octet: UInt8(truncatingIfNeeded: unit >> 8))
      append(octet: UInt8(truncatingIfNeeded: unit))
    }
  }

  /// Calls `body` with one unit of UTF-16 after the other. Bytes that are not UTF-8 become U+FFFD.
  private static func units(_ text: borrowing SecureBytes, _ body: (UInt16) -> Void) {
    text.bytes.scalars { scalar in
      for unit in (scalar ?? "\u{FFFD}").utf16 { body(unit) }
    }
  }
}
