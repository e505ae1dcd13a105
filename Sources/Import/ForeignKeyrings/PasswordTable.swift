import LatchkeySecretClient
import LatchkeySodium
import LatchkeyText

/// Passwords that a browser or a password manager exported as CSV. Each row becomes an item with its password, and one more
/// for each other secret in it: a note, the key of one-time passwords, further fields.
public enum PasswordTable {
  /// The content of a column.
  public enum Column: String, CaseIterable, Sendable {
    case label, url, user, password, notes, totp, fields, realm, group, created, modified

    /// The names that other programs give columns of that kind.
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

    /// Whether it holds a secret.
    fileprivate var isSecret: Bool {
      switch self {
      case .password, .notes, .totp, .fields: true
      case .label, .url, .user, .realm, .group, .created, .modified: false
      }
    }
  }

  /// The schema of these items.
  public static let schema = "org.latchkey.Login"

  /// Columns that those programs write and that say nothing of a password.
  private static let ignored: Set<String> = [
    "", "guid", "formactionorigin", "timelastused", "favorite", "type", "reprompt", "collections", "icon",
  ]

  /// The contents of a table.
  public struct Contents {
    /// An item for each secret.
    public fileprivate(set) var items: [ForeignItem] = []
    /// Rows without any secret: their numbers, counted from the header without empty lines, and what people see of them.
    public fileprivate(set) var empty: [(number: Int, label: String)] = []
    /// Columns whose values stay behind, by their names.
    public fileprivate(set) var unread: [String] = []
  }

  /// Reads all of it.
  ///
  /// - Parameters:
  ///   - bytes: the file.
  ///   - named: columns that are called otherwise than those programs call them.
  /// - Throws: `unknownFormat` where the first row names no password; `noColumn` where it does not name one of `named`.
  public static func read(
    _ bytes: borrowing SecureBytes, named: [Column: String] = [:]
  ) throws(ForeignFileError) -> Contents {
    guard Secret.isText(bytes.bytes) else { throw .notText }
    let table = try CSVTable(bytes)
    guard let header = table.rows.first else { throw .unknownFormat }
    var contents = Contents()
    var columns: [Column: Int] = [:]
    var names: [String] = []
    for (index, field) in header.enumerated() {
      let written = try field.text(bytes)
      names.append(written)
      let name = written.lowercased()
      let column =
        named.first { $0.value.lowercased() == name }?.key ?? Column.allCases.first { $0.names.contains(name) }
      if let column, columns[column] == nil {
        columns[column] = index
      } else if !ignored.contains(name) {
        contents.unread.append(written)
      }
    }
    for name in named.values.sorted() where !names.contains(where: { $0.lowercased() == name.lowercased() }) {
      throw .noColumn(name, has: names)
    }
    guard columns[.password] != nil else { throw .unknownFormat }
    for (index, row) in table.rows.enumerated().dropFirst() {
      let found = try read(row, columns, bytes)
      if found.items.isEmpty { contents.empty.append((index + 1, found.label)) }
      contents.items += found.items
    }
    return contents
  }

  private static func read(
    _ row: [CSVTable.Field], _ columns: [Column: Int], _ bytes: borrowing SecureBytes
  ) throws(ForeignFileError) -> (label: String, items: [ForeignItem]) {
    var texts: [Column: String] = [:]
    for (column, index) in columns where !column.isSecret && index < row.count {
      texts[column] = try row[index].text(bytes)
    }
    let url = texts[.url] ?? ""
    let server = server(of: url)
    let user = texts[.user] ?? ""
    let label = [texts[.label] ?? "", server, user, url].first { !$0.isEmpty } ?? "Password"
    var attributes = [KeyringFile.schemaName: schema]
    for (name, value) in [
      ("url", url), ("server", server), ("user", user), ("realm", texts[.realm] ?? ""), ("group", texts[.group] ?? ""),
      // Two entries without an address would be one otherwise.
      ("name", url.isEmpty ? label : ""),
    ] where !value.isEmpty { attributes[name] = value }
    var items: [ForeignItem] = []
    for column in Column.allCases where column.isSecret {
      guard let index = columns[column], index < row.count, !row[index].range.isEmpty else { continue }
      attributes["field"] = column.rawValue
      items.append(
        ForeignItem(
          label: column == .password ? label : "\(label) (\(column.rawValue))", attributes: attributes,
          secret: Secret(try row[index].secret(bytes)), created: time(texts[.created]),
          modified: time(texts[.modified])))
    }
    return (label, items)
  }

  /// The host of an address, without a port; empty where it has none.
  static func server(of url: String) -> String {
    guard let scheme = url.firstRange(ofText: "://") else { return "" }
    var host = url[scheme.upperBound...].prefix { !"/?#".contains($0) }
    if let at = host.lastIndex(of: "@") { host = host[host.index(after: at)...] }
    if host.hasPrefix("["), let end = host.firstIndex(of: "]") { return String(host[...end]) }
    return String(host.prefix { $0 != ":" })
  }

  /// Milliseconds since 1970, as Firefox has them, or a time by ISO 8601 in UTC, as KeePassXC has them; 0 for anything else.
  static func time(_ text: String?) -> UInt64 {
    guard let text else { return 0 }
    if let milliseconds = UInt64(text) { return milliseconds / 1000 }
    return CalendarTime.seconds(text) ?? 0
  }
}
