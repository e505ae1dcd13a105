import LatchkeySecretClient
import LatchkeySodium
import LatchkeyText

/// Passwords that a browser or a password manager exported as CSV. Each row becomes an item with its password, and a further item
/// for each other secret of the row: a note, the key of one-time passwords, further fields.
public enum PasswordTable {
  /// The content of a column.
  public enum Column: String, CaseIterable, Sendable {
    case label, url, user, password, notes, totp, fields, realm, group, created, modified

    /// The names that other programs give to columns of this kind.
    fileprivate var names: [String] {
      switch self {
      case .label: ["name", "title"]
      case .url: ["url", "login_uri", "website"]
      case .user: ["username", "login_username", "user"]
      case .password: ["password", "login_password"]
      case .notes: ["note", "notes"]
      case .totp: ["otpauth", "totp", "login_totp"]
      case .fields: ["fields"]
      case .realm: ["httprealm"]
      case .group: ["group", "folder"]
      case .created: ["created", "timecreated"]
      case .modified: ["last modified", "timepasswordchanged"]
      }
    }

    /// Whether the column holds a secret.
    fileprivate var isSecret: Bool {
      switch self {
      case .password, .notes, .totp, .fields: true
      case .label, .url, .user, .realm, .group, .created, .modified: false
      }
    }
  }

  /// The schema of a table's items.
  public static let schema = "org.latchkey.Login"

  /// Columns of the known programs that say nothing about a password.
  private static let ignored: Set<String> = [
    "", "guid", "formactionorigin", "timelastused", "favorite", "type", "reprompt", "collections", "icon",
  ]

  /// The contents of a table.
  public struct Contents {
    /// An item for each secret.
    public fileprivate(set) var items: [ForeignItem] = []
    /// Rows without an item.
    public fileprivate(set) var left: [LeftRow] = []
    /// Columns whose values stay behind, by their names.
    public fileprivate(set) var unread: [String] = []
    /// The dialect of the table.
    public fileprivate(set) var dialect = TableDialect.usual
    /// Whether backslashes were removed from values.
    public fileprivate(set) var hasBackslashes = false
    /// The number of values that were read as HTML, and the number of values that may be HTML but were left unchanged.
    public fileprivate(set) var (decoded, doubtful) = (0, 0)
    /// The number of rows with several addresses.
    public fileprivate(set) var several = 0
  }

  /// A row that was left out.
  public struct LeftRow: Equatable, Sendable {
    /// Counted from the first row, without empty lines.
    public let number: Int
    /// The row's label, which has nothing of a secret.
    public let label: String
    /// The reason why the row was left out.
    public let reason: Reason
  }

  /// The reason why a row was left out.
  public enum Reason: Equatable, Sendable {
    /// The row has no secret.
    case noSecret
    /// The row begins on that line and has more fields than the first row names, so one of its values was split in two.
    case tooManyFields(line: Int)
    /// The file ends in the middle of the row.
    case cutOff
    /// A value that begins on that line has a quote at its start and no quote at its end. No row behind it was read.
    case openQuote(line: Int)
  }

  /// The first row.
  private struct Header {
    var columns: [Column: Int] = [:]
    /// The number of columns in the header, and the number up to the last column with a name.
    var count = 0
    var named = 0
    /// The columns before the first column that can hold a secret, even if a value moved to another column.
    var open: [Column: Int] = [:]
  }

  /// Reads the whole table.
  ///
  /// - Parameters:
  ///   - bytes: the file.
  ///   - named: columns with other names than the known programs use.
  /// - Throws: `unknownFormat` if the first row names no password; `noColumn` if that row lacks a name in `named`; `openQuote` if
  ///   it has such a value.
  public static func read(
    _ bytes: borrowing SecureBytes, named: [Column: String] = [:]
  ) throws(ForeignFileError) -> Contents {
    guard bytes.bytes.isText else { throw .notText }
    var table = try CSVTable(bytes)
    var contents = Contents()
    if let first = table.rows.first { contents.dialect = TableDialect(try names(first, bytes)) }
    if contents.dialect == .keePass1 {
      let other = try CSVTable(bytes, quoting: .backslash)
      // A backslash before something else, or a doubled quote, shows that the file comes from another program that uses the same
      // names. A truncated file shows nothing.
      if other.fault?.isAtEnd ?? true || table.fault != nil {
        (contents.hasBackslashes, table) = (other.hasEscapes, other)
      }
    }
    guard let first = table.rows.first else {
      if let fault = table.fault { throw .openQuote(line: fault.line) }
      throw .unknownFormat
    }
    let header = try header(first, named, bytes, &contents)
    let escaped = escaped(table, header, bytes, &contents)
    for (index, var row) in table.rows.enumerated().dropFirst() {
      for column in escaped where column < row.fields.count { row.fields[column].isHTML = true }
      let reason = reason(row, header)
      let found = reason == nil ? try items(row, header.columns, bytes, &contents.several) : []
      if found.isEmpty {
        let login = try Login(row, reason == nil ? header.columns : header.open, bytes)
        contents.left.append(LeftRow(number: index + 1, label: login.label, reason: reason ?? .noSecret))
      }
      contents.items += found
    }
    if let fault = table.fault {
      let login = try Login(fault.row, header.open, bytes)
      contents.left.append(
        LeftRow(number: table.rows.count + 1, label: login.label, reason: .openQuote(line: fault.line)))
    }
    return contents
  }

  private static func names(
    _ row: CSVTable.Row, _ bytes: borrowing SecureBytes
  ) throws(ForeignFileError) -> [String] {
    var names: [String] = []
    for field in row.fields { names.append(try field.text(bytes).lowercased()) }
    return names
  }

  /// The columns whose values are read as HTML. Only LastPass is known to write values in that way.
  private static func escaped(
    _ table: CSVTable, _ header: Header, _ bytes: borrowing SecureBytes, _ contents: inout Contents
  ) -> [Int] {
    var columns: [Int] = []
    for column in header.columns.values {
      var evidence = TableEntities.Evidence()
      for row in table.rows.dropFirst() where column < row.fields.count && reason(row, header) == nil {
        evidence.add(bytes, row.fields[column].range)
      }
      guard evidence.isEscaped else { continue }
      guard contents.dialect == .lastPass else {
        contents.doubtful += evidence.values
        continue
      }
      contents.decoded += evidence.values
      columns.append(column)
    }
    return columns
  }

  private static func header(
    _ row: CSVTable.Row, _ named: [Column: String], _ bytes: borrowing SecureBytes, _ contents: inout Contents
  ) throws(ForeignFileError) -> Header {
    let dialect = contents.dialect
    var header = Header(count: row.count, named: row.filled)
    var names: [String] = []
    var isOpen = true
    for (index, field) in row.fields.enumerated() {
      let written = try field.text(bytes)
      names.append(written)
      let name = written.lowercased()
      let column =
        named.first { $0.value.lowercased() == name }?.key ?? dialect.names[name]
        ?? Column.allCases.first { $0.names.contains(name) }
      if let column, header.columns[column] == nil {
        header.columns[column] = index
        isOpen = isOpen && !column.isSecret
        if isOpen { header.open[column] = index }
      } else if !ignored.contains(name), !dialect.ignored.contains(name) {
        contents.unread.append(written)
        isOpen = false
      }
    }
    for name in named.values.sorted() where !names.contains(where: { $0.lowercased() == name.lowercased() }) {
      throw .noColumn(name, has: names)
    }
    guard header.columns[.password] != nil else { throw .unknownFormat }
    return header
  }

  /// Why the columns of a row cannot be trusted.
  private static func reason(_ row: CSVTable.Row, _ header: Header) -> Reason? {
    // Spreadsheets leave empty fields off at the end of a row, but not the line end.
    if row.count < header.named, !row.isEnded { return .cutOff }
    if row.filled > header.named { return .tooManyFields(line: row.line) }
    // Empty fields at the end are harmless, unless the row's values moved to the right. In that case there is a value after the
    // password.
    if row.count > header.count, let password = header.columns[.password], row.filled > password + 1 {
      return .tooManyFields(line: row.line)
    }
    return nil
  }

  /// The fields of a row that are not secret.
  private struct Login {
    let label: String
    let attributes: [String: String]
    let created: UInt64
    let modified: UInt64
    /// The number of addresses in the row.
    let addresses: Int

    init(_ row: CSVTable.Row, _ columns: [Column: Int], _ bytes: borrowing SecureBytes) throws(ForeignFileError) {
      var texts: [Column: String] = [:]
      for (column, index) in columns where !column.isSecret && index < row.fields.count {
        texts[column] = try row.fields[index].text(bytes)
      }
      let url = texts[.url] ?? ""
      let server = WebAddress.server(of: url)
      addresses = WebAddress.addresses(in: url).count
      let user = texts[.user] ?? ""
      let label = [texts[.label] ?? "", server, user, url].first { !$0.isEmpty } ?? "Password"
      var attributes = [KeyringFile.schemaName: schema]
      for (name, value) in [
        ("url", url), ("server", server), ("user", user), ("realm", texts[.realm] ?? ""),
        ("group", texts[.group] ?? ""),
        // Without the label, two entries without an address would merge.
        ("name", url.isEmpty ? label : ""),
      ] where !value.isEmpty { attributes[name] = value }
      (self.label, self.attributes) = (label, attributes)
      (created, modified) = (time(texts[.created]), time(texts[.modified]))
    }
  }

  private static func items(
    _ row: CSVTable.Row, _ columns: [Column: Int], _ bytes: borrowing SecureBytes, _ several: inout Int
  ) throws(ForeignFileError) -> [ForeignItem] {
    let login = try Login(row, columns, bytes)
    if login.addresses > 1 { several += 1 }
    var attributes = login.attributes
    var items: [ForeignItem] = []
    for column in Column.allCases where column.isSecret {
      guard let index = columns[column], index < row.fields.count, !row.fields[index].range.isEmpty else { continue }
      attributes["field"] = column.rawValue
      items.append(
        ForeignItem(
          label: column == .password ? login.label : "\(login.label) (\(column.rawValue))", attributes: attributes,
          secret: Secret(try row.fields[index].secret(bytes)), created: login.created, modified: login.modified))
    }
    return items
  }

  /// Reads the milliseconds since 1970 that Firefox writes, or the time by ISO 8601 in UTC that KeePassXC writes; 0 for any other
  /// text.
  static func time(_ text: String?) -> UInt64 {
    guard let text else { return 0 }
    if let milliseconds = UInt64(text) { return milliseconds / 1000 }
    return CalendarTime.seconds(text) ?? 0
  }
}
