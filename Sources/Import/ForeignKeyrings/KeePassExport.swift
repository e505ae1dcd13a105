import LatchkeySecretClient
import LatchkeySodium

/// A database of KeePass in XML, as keepassxc-cli exports it. Each secret of an entry becomes an item: its password, notes,
/// one-time password, each field that its owner added, and each attached file.
public struct KeePassExport {
  /// The items that were read.
  public private(set) var items: [ForeignItem] = []
  /// Entries without any secret, by what people see of them.
  public private(set) var empty: [String] = []
  /// How many entries lie in the recycle bin, and were left there.
  public private(set) var discarded = 0
  /// How many older states of the other entries there are, which were left there.
  public private(set) var older = 0
  /// Attached files whose content is not in the XML: of a database of version 4, keepassxc-cli writes their names alone.
  private var missing: [MissingFile] = []
  /// How many entries have a path.
  private var paths: [String: Int] = [:]

  /// The names in the attributes of the fields that every KeePass entry has.
  private static let fields = ["Password": "password", "Notes": "notes", "otp": "totp"]
  private static let depthLimit = 64
  /// How large all secrets together may be: a file can be attached to many entries, and expand to many times its size.
  private static let sizeLimit = 256 << 20

  private var path: [String] = []
  /// How large the secrets are that were read.
  private var size = 0
  private var groups: [Group] = []
  private var entry: Entry?
  private var key = ""
  private var reference = ""
  private var binID: String?
  /// Attached files: in Base64, and whether they are compressed.
  private var files: [String: (range: Range<Int>, isCompressed: Bool)] = [:]

  private struct Group {
    var name = ""
    var isBin = false
  }

  /// An attached file without its content, and the item that it becomes.
  private struct MissingFile {
    let path: String
    let name: String
    let reference: String
    let label: String
    let attributes: [String: String]
    let created: UInt64
    let modified: UInt64
  }

  private struct Entry {
    var created: UInt64 = 0
    var modified: UInt64 = 0
    var fields: [(key: String, value: Range<Int>)] = []
    var files: [(name: String, reference: String)] = []
  }

  /// Reads all of it.
  ///
  /// - Parameter expand: makes of a compressed file (gzip) what it was.
  public init(
    _ bytes: borrowing SecureBytes, expand: (borrowing SecureBytes) throws -> SecureBytes
  ) throws {
    var reader = MarkupReader()
    var isDatabase = false
    var attributes = 0..<0
    var text = 0..<0
    while let event = try reader.next(bytes) {
      switch event {
      case .start(let name, let range):
        guard path.count < Self.depthLimit else { throw ForeignFileError.tooLarge }
        if path.isEmpty { isDatabase = name == "KeePassFile" }
        path.append(name)
        (attributes, text) = (range, range.upperBound..<range.upperBound)
        start(name)
      case .text(let range): text = range
      case .end(let name):
        guard path.last == name else { throw ForeignFileError.damaged }
        try end(name, text, attributes, bytes, expand)
        path.removeLast()
        text = 0..<0
      }
    }
    guard path.isEmpty, isDatabase else { throw ForeignFileError.damaged }
  }

  private var parent: String { path.count > 1 ? path[path.count - 2] : "" }
  /// Whether this is an older state of an entry.
  private var isHistory: Bool { path.contains("History") }
  private var isInBin: Bool { groups.contains(where: \.isBin) }

  private mutating func start(_ name: String) {
    if name == "Group" { groups.append(Group()) }
    if name == "Entry", !isHistory { entry = Entry() }
  }

  private mutating func end(
    _ name: String, _ text: Range<Int>, _ attributes: Range<Int>, _ bytes: borrowing SecureBytes,
    _ expand: (borrowing SecureBytes) throws -> SecureBytes
  ) throws {
    if isHistory {
      if name == "Entry", !isInBin { older += 1 }
      return
    }
    func plain() throws(ForeignFileError) -> String {
      let value = try MarkupReader.secret(bytes, text)
      return value.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
    switch (parent, name) {
    case ("Meta", "RecycleBinUUID"): binID = try plain()
    case ("Group", "UUID"): if try plain() == binID, !groups.isEmpty { groups[groups.count - 1].isBin = true }
    case ("Group", "Name"): if !groups.isEmpty { groups[groups.count - 1].name = try plain() }
    case ("Binaries", "Binary"):
      guard let id = MarkupReader.attribute("ID", in: attributes, bytes) else { throw ForeignFileError.damaged }
      files[id] = (text, MarkupReader.attribute("Compressed", in: attributes, bytes) == "True")
    case ("Times", "CreationTime"): entry?.created = Self.time(try plain())
    case ("Times", "LastModificationTime"): entry?.modified = Self.time(try plain())
    case ("String", "Key"), ("Binary", "Key"): key = try plain()
    case ("String", "Value"): entry?.fields.append((key, text))
    case ("Binary", "Value"):
      if let reference = MarkupReader.attribute("Ref", in: attributes, bytes) { entry?.files.append((key, reference)) }
    case (_, "Entry"): try finish(bytes, expand)
    case (_, "Group"): _ = groups.popLast()
    default: break
    }
  }

  /// Between the first of January of the year 1, which version 4 counts from, and of 1970.
  private static let secondsTo1970: UInt64 = 62_135_596_800

  /// A time in seconds since 1970; 0 if it is invalid. For a database of version 4, keepassxc-cli writes the seconds as eight
  /// bytes, low ones first, in Base64.
  private static func time(_ text: String) -> UInt64 {
    if let seconds = CalendarTime.seconds(text) { return seconds }
    guard let octets = Base64.decode(text), octets.count == 8 else { return 0 }
    let seconds = octets.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    return seconds > secondsTo1970 ? seconds - secondsTo1970 : 0
  }

  private mutating func finish(
    _ bytes: borrowing SecureBytes, _ expand: (borrowing SecureBytes) throws -> SecureBytes
  ) throws {
    guard let entry = entry.take() else { return }
    let path = try path(of: entry, bytes)
    paths[path, default: 0] += 1
    if isInBin {
      discarded += 1
      return
    }
    func text(_ name: String) throws(ForeignFileError) -> String {
      guard let range = entry.fields.first(where: { $0.key == name })?.value else { return "" }
      let value = try MarkupReader.secret(bytes, range)
      return value.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
    let (title, url, user) = (try text("Title"), try text("URL"), try text("UserName"))
    let label = [title, PasswordTable.server(of: url), user, url].first { !$0.isEmpty } ?? "Password"
    var attributes = [KeyringFile.schemaName: PasswordTable.schema]
    for (name, value) in [
      ("name", label), ("url", url), ("server", PasswordTable.server(of: url)), ("user", user),
      // The first group is the database itself.
      ("group", groups.dropFirst().map(\.name).joined(separator: "/")),
    ] where !value.isEmpty { attributes[name] = value }
    let before = items.count + missing.count
    func add(
      _ label: String, _ named: [String: String], _ secret: consuming SecureBytes
    ) throws(ForeignFileError) {
      try append(
        ForeignItem(
          label: label, attributes: attributes.merging(named) { $1 }, secret: Secret(secret), created: entry.created,
          modified: entry.modified))
    }
    for (key, value) in entry.fields where !["Title", "URL", "UserName"].contains(key) && !value.isEmpty {
      let secret = try MarkupReader.secret(bytes, value)
      let known = Self.fields[key]
      let shown = known == "password" ? label : "\(label) (\(known ?? key))"
      try add(shown, known.map { ["field": $0] } ?? ["field": "custom", "custom": key], secret)
    }
    for (name, reference) in entry.files {
      let (shown, named) = ("\(label) (\(name))", ["field": "attachment", "attachment": name])
      guard let file = files[reference] else {
        guard missing.count < KeyringFile.itemLimit else { throw ForeignFileError.tooLarge }
        missing.append(
          MissingFile(
            path: path, name: name, reference: reference, label: shown, attributes: attributes.merging(named) { $1 },
            created: entry.created, modified: entry.modified))
        continue
      }
      guard let stored = try Base64.decode(secret: bytes.bytes.extracting(file.range)) else {
        throw ForeignFileError.damaged
      }
      let secret = if file.isCompressed { try expand(stored) } else { stored }
      try add(shown, named, secret)
    }
    if items.count + missing.count == before { empty.append(label) }
  }

  /// Where keepassxc-cli finds an entry: its groups below the database itself, and its title.
  private func path(of entry: Entry, _ bytes: borrowing SecureBytes) throws(ForeignFileError) -> String {
    var title = ""
    if let range = entry.fields.first(where: { $0.key == "Title" })?.value {
      let value = try MarkupReader.secret(bytes, range)
      title = value.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
    return "/" + (groups.dropFirst().map(\.name) + [title]).joined(separator: "/")
  }

  private mutating func append(_ item: ForeignItem) throws(ForeignFileError) {
    size += item.secret.count
    guard size <= Self.sizeLimit, items.count < KeyringFile.itemLimit else { throw .tooLarge }
    items.append(item)
  }

  /// Adds the attached files whose content is not in the XML. One that several entries have is fetched once.
  ///
  /// - Parameter fetch: told the path of an entry and the name of a file; answers its content, or nil where it cannot be had.
  /// - Returns: the labels of those that could not be read. Entries with the same path cannot be told apart.
  public mutating func addFiles(_ fetch: (String, String) throws -> SecureBytes?) throws -> [String] {
    var fetched: [String: Secret] = [:]
    for file in missing where fetched[file.reference] == nil && paths[file.path] == 1 {
      if let content = try fetch(file.path, file.name) { fetched[file.reference] = Secret(content) }
    }
    var left: [String] = []
    for file in missing {
      guard let secret = fetched[file.reference] else {
        left.append(file.label)
        continue
      }
      try append(
        ForeignItem(
          label: file.label, attributes: file.attributes, secret: secret, created: file.created, modified: file.modified
        ))
    }
    missing = []
    return left
  }
}
