import LatchkeySecretClient
import LatchkeySodium

/// A database of KeePass in XML, as keepassxc-cli exports it. Each secret of an entry becomes an item: its password, notes,
/// one-time password, each field that its owner added, and each attached file.
public struct KeePassExport {
  /// What was read.
  public private(set) var items: [ForeignItem] = []
  /// Entries without any secret, by what people see of them.
  public private(set) var empty: [String] = []
  /// How many entries lie in the recycle bin, and were left there.
  public private(set) var discarded = 0

  /// What a field is called in the attributes, where KeePass has it by itself.
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

  private mutating func start(_ name: String) {
    if name == "Group" { groups.append(Group()) }
    if name == "Entry", !isHistory { entry = Entry() }
  }

  private mutating func end(
    _ name: String, _ text: Range<Int>, _ attributes: Range<Int>, _ bytes: borrowing SecureBytes,
    _ expand: (borrowing SecureBytes) throws -> SecureBytes
  ) throws {
    if isHistory { return }
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
    case ("Times", "CreationTime"): entry?.created = CalendarTime.seconds(try plain()) ?? 0
    case ("Times", "LastModificationTime"): entry?.modified = CalendarTime.seconds(try plain()) ?? 0
    case ("String", "Key"), ("Binary", "Key"): key = try plain()
    case ("String", "Value"): entry?.fields.append((key, text))
    case ("Binary", "Value"):
      if let reference = MarkupReader.attribute("Ref", in: attributes, bytes) { entry?.files.append((key, reference)) }
    case (_, "Entry"): try finish(bytes, expand)
    case (_, "Group"): _ = groups.popLast()
    default: break
    }
  }

  private mutating func finish(
    _ bytes: borrowing SecureBytes, _ expand: (borrowing SecureBytes) throws -> SecureBytes
  ) throws {
    guard let entry = entry.take() else { return }
    if groups.contains(where: \.isBin) {
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
    let before = items.count
    func add(
      _ label: String, _ named: [String: String], _ secret: consuming SecureBytes
    ) throws(ForeignFileError) {
      size += secret.count
      guard size <= Self.sizeLimit, items.count < KeyringFile.itemLimit else { throw .tooLarge }
      items.append(
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
      guard let file = files[reference], let stored = try Base64.decode(secret: bytes.bytes.extracting(file.range))
      else {
        throw ForeignFileError.damaged
      }
      let secret = if file.isCompressed { try expand(stored) } else { stored }
      try add("\(label) (\(name))", ["field": "attachment", "attachment": name], secret)
    }
    if items.count == before { empty.append(label) }
  }
}
