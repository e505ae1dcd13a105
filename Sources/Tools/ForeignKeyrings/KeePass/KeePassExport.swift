import LatchkeySecretClient
import LatchkeySodium

/// A database of KeePass in the XML that keepassxc-cli exports. Each secret of an entry becomes an item: its password, notes,
/// one-time password, each field that its owner added, and each attached file.
public struct KeePassExport {
  /// The items that were read.
  public private(set) var items: [ForeignItem] = []
  /// Entries without any secret, by the names that people see.
  public private(set) var empty: [String] = []
  /// Entries in the recycle bin that were left there, by the names that people see.
  public private(set) var discarded: [String] = []
  /// Values that stay behind, by the labels that their items would have.
  public private(set) var left: [LeftValue] = []
  /// The number of older states of the other entries that were left there.
  public private(set) var older = 0
  /// Attached files whose content is not in the XML: for a database of version 4, keepassxc-cli writes only their names.
  private var missing: [MissingFile] = []
  /// The number of entries with each path.
  private var paths: [String: Int] = [:]

  /// A value that stays behind.
  public struct LeftValue: Equatable, Sendable {
    /// The label of the value's item, or of the entry with the value as an attribute.
    public let label: String
    /// The field of the value.
    public let field: String
    /// Why the value stays behind.
    public let reason: Reason
  }

  /// Why a value stays behind.
  public enum Reason: Equatable, Sendable {
    /// The value refers to a missing entry or field.
    case noTarget
    /// The value refers to itself, or over too many entries.
    case endless
    /// The value refers to a value that is too large.
    case tooLarge
    /// The value has this placeholder, which only KeePass can resolve.
    case placeholder(String)
    /// The value would bring a secret into an attribute.
    case secretInAttribute
    /// The value is encrypted separately.
    case encrypted
    /// The values are settings of one-time passwords that this program does not understand. They were imported as further fields.
    case oneTimePassword
  }

  /// The names in the attributes of the fields that every KeePass entry has.
  private static let fields = ["Password": "password", "Notes": "notes", "otp": "totp"]
  private static let depthLimit = 64
  /// How large all secrets together may be: a file can be attached to many entries, and expand to many times its size.
  private static let sizeLimit = 256 << 20

  private var path: [String] = []
  /// The size of the secrets that were read so far.
  private var size = 0
  private var groups: [Group] = []
  private var entry: KeePassEntry?
  private var entries: [KeePassEntry] = []
  private var key = ""
  private var reference = ""
  private var binID: String?
  /// Attached files in Base64, and whether they are compressed.
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

  /// Reads the whole export.
  ///
  /// - Parameter expand: expands a compressed file (gzip).
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
        try end(name, text, attributes, bytes)
        path.removeLast()
        text = 0..<0
      }
    }
    guard path.isEmpty, isDatabase else { throw ForeignFileError.damaged }
    var references = KeePassReferences(entries)
    for number in entries.indices { try take(number, &references, bytes, expand) }
    entries = []
  }

  private var parent: String { path.count > 1 ? path[path.count - 2] : "" }
  /// Whether this is an older state of an entry.
  private var isHistory: Bool { path.contains("History") }
  private var isInBin: Bool { groups.contains(where: \.isBin) }

  private mutating func start(_ name: String) {
    if name == "Group" { groups.append(Group()) }
    if name == "Entry", !isHistory { entry = KeePassEntry() }
  }

  private mutating func end(
    _ name: String, _ text: Range<Int>, _ attributes: Range<Int>, _ bytes: borrowing SecureBytes
  ) throws(ForeignFileError) {
    if isHistory {
      if name == "Entry", !isInBin { older += 1 }
      return
    }
    func plain() throws(ForeignFileError) -> String {
      let value = try MarkupReader.secret(bytes, text)
      return value.bytes.text
    }
    switch (parent, name) {
    case ("Meta", "RecycleBinUUID"): binID = try plain()
    case ("Group", "UUID"): if try plain() == binID, !groups.isEmpty { groups[groups.count - 1].isBin = true }
    case ("Group", "Name"): if !groups.isEmpty { groups[groups.count - 1].name = try plain() }
    case ("Binaries", "Binary"):
      guard let id = MarkupReader.attribute("ID", in: attributes, bytes) else { throw ForeignFileError.damaged }
      files[id] = (text, MarkupReader.attribute("Compressed", in: attributes, bytes) == "True")
    case ("Entry", "UUID"): entry?.uuid = Self.hexadecimal(Base64.decode(try plain()) ?? [])
    case ("Times", "CreationTime"): entry?.created = Self.time(try plain())
    case ("Times", "LastModificationTime"): entry?.modified = Self.time(try plain())
    case ("String", "Key"), ("Binary", "Key"): key = try plain()
    case ("String", "Value"):
      try entry?.add(
        .init(
          key: key, value: text,
          isProtected: MarkupReader.attribute("ProtectInMemory", in: attributes, bytes) == "True",
          isEncrypted: MarkupReader.attribute("Protected", in: attributes, bytes) == "True"))
    case ("Binary", "Value"):
      if let reference = MarkupReader.attribute("Ref", in: attributes, bytes) { entry?.files.append((key, reference)) }
    case (_, "Entry"): try finish(bytes)
    case (_, "Group"): _ = groups.popLast()
    default: break
    }
  }

  /// The seconds from the first of January of the year 1, from which version 4 counts, to the first of January of 1970.
  private static let secondsTo1970: UInt64 = 62_135_596_800

  /// A time in seconds since 1970; 0 if the time is invalid. For a database of version 4, keepassxc-cli writes the seconds as eight
  /// bytes, the lowest first, in Base64.
  private static func time(_ text: String) -> UInt64 {
    if let seconds = CalendarTime.seconds(text) { return seconds }
    guard let octets = Base64.decode(text), octets.count == 8 else { return 0 }
    let seconds = octets.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    return seconds > secondsTo1970 ? seconds - secondsTo1970 : 0
  }

  private static func hexadecimal(_ octets: [UInt8]) -> String {
    octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
  }

  private mutating func finish(_ bytes: borrowing SecureBytes) throws(ForeignFileError) {
    guard var entry = entry.take() else { return }
    guard entries.count < KeyringFile.itemLimit else { throw .tooLarge }
    // The first group is the database itself.
    entry.groups = groups.dropFirst().map(\.name)
    entry.isInBin = isInBin
    paths[try entry.path(bytes), default: 0] += 1
    entries.append(entry)
  }

  /// Makes items from an entry.
  private mutating func take(
    _ number: Int, _ references: inout KeePassReferences, _ bytes: borrowing SecureBytes,
    _ expand: (borrowing SecureBytes) throws -> SecureBytes
  ) throws {
    let entry = entries[number]
    var refused: [(field: String, reason: Reason)] = []
    func text(_ field: KeePassEntry.Standard, orAsWritten isKept: Bool = false) throws(ForeignFileError) -> String {
      guard let one = entry.field(field.rawValue) else { return "" }
      do throws(KeePassReferences.Refusal) {
        let value = try references.value(one, of: number, as: .attribute, bytes)
        return value.bytes.text
      } catch {
        refused.append((field.rawValue, try Reason(error)))
        return isKept ? try entry.text(field, bytes) : ""
      }
    }
    // A title that cannot be expanded is kept as it is, because people know the entry by it.
    let title = try text(.title, orAsWritten: true)
    let (url, user) = (try text(.url), try text(.user))
    // The host may be known even if a part of the address is not.
    let server = WebAddress.server(of: url.isEmpty ? try entry.text(.url, bytes) : url)
    let label = [title, server, user, url].first { !$0.isEmpty } ?? "Password"
    if entry.isInBin {
      discarded.append(label)
      return
    }
    var attributes = [KeyringFile.schemaName: PasswordTable.schema]
    for (name, value) in [
      ("name", label), ("url", url), ("server", server), ("user", user), ("group", entry.groups.joined(separator: "/")),
    ] where !value.isEmpty { attributes[name] = value }
    left += refused.map { LeftValue(label: label, field: $0.field, reason: $0.reason) }
    let before = items.count + missing.count + left.count
    let values = try values(of: number, label, &references, bytes)
    let login = try KeePassOneTimePassword.read(values, issuer: label, user: user)
    var secrets: [(name: String, secret: Secret)] = []
    for field in entry.fields {
      guard let secret = values[field.key], login?.fields.contains(field.key) != true else { continue }
      secrets.append((field.key, secret))
    }
    if let login { secrets.append(("otp", login.uri)) }
    if login == nil || secrets.contains(where: { KeePassOneTimePassword.isKey($0.name) }),
      let one = secrets.first(where: { KeePassOneTimePassword.isSetting($0.name) })
    {
      left.append(LeftValue(label: label, field: one.name, reason: .oneTimePassword))
    }
    for (key, secret) in secrets {
      let known = Self.fields[key]
      try append(
        ForeignItem(
          label: known == "password" ? label : "\(label) (\(known ?? key))",
          attributes: attributes.merging(known.map { ["field": $0] } ?? ["field": "custom", "custom": key]) { $1 },
          secret: secret, created: entry.created, modified: entry.modified))
    }
    try takeFiles(of: entry, label, attributes, bytes, expand)
    if items.count + missing.count + left.count == before { empty.append(label) }
  }

  /// The secrets of an entry by the names of their fields, with references expanded. Secrets that cannot be expanded stay behind.
  private mutating func values(
    of number: Int, _ label: String, _ references: inout KeePassReferences, _ bytes: borrowing SecureBytes
  ) throws(ForeignFileError) -> [String: Secret] {
    var values: [String: Secret] = [:]
    let shown: Set = ["Title", "URL", "UserName"]
    for field in entries[number].fields where !shown.contains(field.key) && !field.value.isEmpty {
      do throws(KeePassReferences.Refusal) {
        let use: KeePassReferences.Use = field.key == KeePassEntry.Standard.notes.rawValue ? .notes : .secret
        let value = try references.value(field, of: number, as: use, bytes)
        // A reference to an empty field becomes empty.
        if value.count > 0 { values[field.key] = Secret(value) }
      } catch {
        left.append(LeftValue(label: label, field: field.key, reason: try Reason(error)))
      }
    }
    return values
  }

  private mutating func takeFiles(
    of entry: KeePassEntry, _ label: String, _ attributes: [String: String], _ bytes: borrowing SecureBytes,
    _ expand: (borrowing SecureBytes) throws -> SecureBytes
  ) throws {
    for (name, reference) in entry.files {
      let (shown, named) = ("\(label) (\(name))", ["field": "attachment", "attachment": name])
      guard let file = files[reference] else {
        guard missing.count < KeyringFile.itemLimit else { throw ForeignFileError.tooLarge }
        missing.append(
          MissingFile(
            path: try entry.path(bytes), name: name, reference: reference, label: shown,
            attributes: attributes.merging(named) { $1 }, created: entry.created, modified: entry.modified))
        continue
      }
      guard let stored = try Base64.decode(secret: bytes.bytes.extracting(file.range)) else {
        throw ForeignFileError.damaged
      }
      let secret = if file.isCompressed { try expand(stored) } else { stored }
      try append(
        ForeignItem(
          label: shown, attributes: attributes.merging(named) { $1 }, secret: Secret(secret), created: entry.created,
          modified: entry.modified))
    }
  }

  private mutating func append(_ item: ForeignItem) throws(ForeignFileError) {
    size += item.secret.count
    guard size <= Self.sizeLimit, items.count < KeyringFile.itemLimit else { throw .tooLarge }
    items.append(item)
  }

  /// Adds the attached files whose content is not in the XML. A file of several entries is fetched once.
  ///
  /// - Parameter fetch: gets the path of an entry and the name of a file, and returns the content, or nil.
  /// - Returns: the labels of files that could not be read. Entries with the same path cannot be distinguished.
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

extension KeePassExport.Reason {
  /// - Throws: an error that concerns the whole file.
  fileprivate init(_ refusal: KeePassReferences.Refusal) throws(ForeignFileError) {
    switch refusal {
    case .noTarget: self = .noTarget
    case .endless: self = .endless
    case .tooLarge: self = .tooLarge
    case .placeholder(let name): self = .placeholder(name)
    case .secretInAttribute: self = .secretInAttribute
    case .encrypted: self = .encrypted
    case .file(let error): throw error
    }
  }
}
