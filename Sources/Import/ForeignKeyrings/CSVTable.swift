import LatchkeySodium

/// Comma-separated values by RFC 4180, in memory for secrets: it knows where each field is.
struct CSVTable {
  /// How many rows a file may have, and fields a row.
  private static let rowLimit = 100_000
  private static let fieldLimit = 64

  /// One field: where it is without its quotes, and whether quotes within it are doubled.
  struct Field {
    var range: Range<Int>
    var hasQuotes = false
  }

  private(set) var rows: [[Field]] = []

  /// Finds the fields. A line end within quotes belongs to its field.
  init(_ bytes: borrowing SecureBytes) throws(ForeignFileError) {
    let quote = UInt8(ascii: "\"")
    // Spreadsheets put a mark before UTF-8.
    var at = bytes.bytes.withUnsafeBytes { $0.starts(with: [0xef, 0xbb, 0xbf]) } ? 3 : 0
    var row: [Field] = []
    while at < bytes.count {
      var field = Field(range: at..<at)
      if bytes.octet(at) == quote {
        at += 1
        let start = at
        while true {
          guard let end = bytes.index(of: quote, in: at..<bytes.count) else { throw .damaged }
          at = end + 1
          guard at < bytes.count, bytes.octet(at) == quote else {
            field.range = start..<end
            break
          }
          field.hasQuotes = true
          at += 1
        }
      } else {
        while at < bytes.count, !Self.ends(bytes.octet(at)) { at += 1 }
        field.range = field.range.lowerBound..<at
      }
      guard row.count < Self.fieldLimit else { throw .tooLarge }
      row.append(field)
      guard at < bytes.count else { break }
      switch bytes.octet(at) {
      case UInt8(ascii: ","):
        at += 1
        // A comma at the end of the file has an empty field behind it.
        if at == bytes.count { row.append(Field(range: at..<at)) }
        continue
      case UInt8(ascii: "\r"), UInt8(ascii: "\n"):
        while at < bytes.count, bytes.octet(at) == 0x0d || bytes.octet(at) == 0x0a { at += 1 }
        try end(&row)
      default: throw .damaged
      }
    }
    try end(&row)
  }

  private static func ends(_ octet: UInt8) -> Bool {
    octet == UInt8(ascii: ",") || octet == UInt8(ascii: "\n") || octet == UInt8(ascii: "\r")
  }

  private mutating func end(_ row: inout [Field]) throws(ForeignFileError) {
    if row.isEmpty { return }
    guard rows.count < Self.rowLimit else { throw .tooLarge }
    rows.append(row)
    row = []
  }
}

extension CSVTable.Field {
  /// As a secret.
  func secret(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> SecureBytes {
    guard hasQuotes else { return try bytes.part(range) }
    let part = try bytes.part(range)
    do {
      var out = try SecureBytes(count: part.count)
      let count = part.bytes.withUnsafeBytes { part in
        out.withUnsafeMutableBytes { out in
          var (count, at) = (0, 0)
          while at < part.count {
            out[count] = part[at]
            count += 1
            at += part[at] == UInt8(ascii: "\"") ? 2 : 1
          }
          return count
        }
      }
      return try out.prefix(count)
    } catch { throw .noMemory }
  }

  /// As text that is no secret; bytes that are not UTF-8 are replaced.
  func text(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> String {
    let value = try secret(bytes)
    return value.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }
}
