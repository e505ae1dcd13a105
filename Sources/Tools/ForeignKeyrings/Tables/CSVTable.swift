import LatchkeySodium

/// Comma-separated values, by RFC 4180 or with backslashes, in memory for secrets. The table knows the place of each field.
struct CSVTable {
  /// How a quote is written within quotes.
  enum Quoting {
    /// Twice.
    case doubled
    /// A quote with a backslash before it. Only a quote and a backslash are escaped in this way.
    case backslash
  }

  /// The most rows of a file, and the most fields of a row.
  private static let rowLimit = 100_000
  private static let fieldLimit = 64

  /// One field: its place without its quotes, and the character that escapes a quote within it.
  struct Field {
    var range: Range<Int>
    /// A quote or a backslash; nil if nothing in the field is escaped.
    fileprivate(set) var escape: UInt8?
    /// Whether characters within the field are written as HTML entities.
    var isHTML = false
  }

  /// One row.
  struct Row {
    /// The row's fields. Fields beyond the limit are only counted.
    var fields: [Field] = []
    /// The number of fields in the row.
    fileprivate(set) var count = 0
    /// The number of fields up to the last one with a value.
    fileprivate(set) var filled = 0
    /// The line of the file on which the row begins.
    let line: Int
    /// Whether a line end follows the row.
    fileprivate(set) var isEnded = false

    fileprivate mutating func append(_ field: Field) {
      count += 1
      if !field.range.isEmpty { filled = count }
      if count <= fieldLimit { fields.append(field) }
    }
  }

  /// A value that begins with a quote and does not end with one. The quote may be a part of the value, or its closing quote may be
  /// missing. The beginning of the next row depends on this, so nothing after the value is read.
  struct Fault {
    /// The row up to that value.
    let row: Row
    /// The line of the quote.
    let line: Int
    /// Whether the file ends before the value does.
    var isAtEnd = false
  }

  private(set) var rows: [Row] = []
  /// Whether any value has an escaped character.
  var hasEscapes: Bool { rows.contains { $0.fields.contains { $0.escape != nil } } }
  /// The place where the reading ended, if that is before the end of the file.
  private(set) var fault: Fault?

  /// Finds the fields. A line end within quotes belongs to its field, and so does a quote behind the first character of a field
  /// without quotes.
  init(_ bytes: borrowing SecureBytes, quoting: Quoting = .doubled) throws(ForeignFileError) {
    let (quote, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
    // Spreadsheets write a byte order mark before UTF-8.
    var at = bytes.bytes.starts(with: [0xef, 0xbb, 0xbf]) ? 3 : 0
    var line = 1
    var row = Row(line: line)
    while at < bytes.count {
      var field = Field(range: at..<at)
      if bytes.octet(at) == quote {
        at += 1
        let start = at
        while true {
          while quoting == .backslash, at < bytes.count, bytes.octet(at) != quote {
            guard bytes.octet(at) == backslash else {
              at += 1
              continue
            }
            guard at + 1 < bytes.count, [quote, backslash].contains(bytes.octet(at + 1)) else {
              fault = Fault(row: row, line: line, isAtEnd: at + 1 == bytes.count)
              return
            }
            field.escape = backslash
            at += 2
          }
          guard let end = bytes.index(of: quote, in: at..<bytes.count) else {
            fault = Fault(row: row, line: line, isAtEnd: true)
            return
          }
          at = end + 1
          guard quoting == .doubled, at < bytes.count, bytes.octet(at) == quote else {
            field.range = start..<end
            break
          }
          field.escape = quote
          at += 1
        }
        guard at == bytes.count || Self.ends(bytes.octet(at)) else {
          fault = Fault(row: row, line: line)
          return
        }
        line += Self.lineEnds(in: field.range, of: bytes)
      } else {
        while at < bytes.count, !Self.ends(bytes.octet(at)) { at += 1 }
        field.range = field.range.lowerBound..<at
      }
      row.append(field)
      guard at < bytes.count else { break }
      if bytes.octet(at) == UInt8(ascii: ",") {
        at += 1
        // After a comma at the end of the file, there is an empty field.
        if at == bytes.count { row.append(Field(range: at..<at)) }
        continue
      }
      let end = at
      while at < bytes.count, bytes.octet(at) == 0x0d || bytes.octet(at) == 0x0a { at += 1 }
      row.isEnded = true
      try append(row)
      line += Self.lineEnds(in: end..<at, of: bytes)
      row = Row(line: line)
    }
    if row.count > 0 { try append(row) }
  }

  private static func ends(_ octet: UInt8) -> Bool {
    octet == UInt8(ascii: ",") || octet == UInt8(ascii: "\n") || octet == UInt8(ascii: "\r")
  }

  /// The line ends in this part: LF, CR, or both together.
  private static func lineEnds(in range: Range<Int>, of bytes: borrowing SecureBytes) -> Int {
    range.count { index in
      switch bytes.octet(index) {
      case 0x0a: true
      case 0x0d: index + 1 == range.upperBound || bytes.octet(index + 1) != 0x0a
      default: false
      }
    }
  }

  private mutating func append(_ row: Row) throws(ForeignFileError) {
    guard rows.count < Self.rowLimit else { throw .tooLarge }
    // The first row names the columns.
    guard !rows.isEmpty || row.count <= Self.fieldLimit else { throw .tooLarge }
    rows.append(row)
  }
}

extension CSVTable.Field {
  /// The field as a secret.
  func secret(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> SecureBytes {
    let value = try unescaped(bytes)
    return isHTML ? try MarkupReader.secret(value, 0..<value.count) : value
  }

  private func unescaped(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> SecureBytes {
    guard let escape else { return try bytes.part(range) }
    let part = try bytes.part(range)
    do {
      var out = try SecureWriter(capacity: part.count)
      var at = 0
      while at < part.count {
        // The character after an escape stands for itself.
        if part[at] == escape { at += 1 }
        out.append(part[at])
        at += 1
      }
      return try out.finish()
    } catch { throw .noMemory }
  }

  /// The field as text that is not secret; bytes that are not UTF-8 are replaced.
  func text(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> String {
    let value = try secret(bytes)
    return value.bytes.text
  }
}
