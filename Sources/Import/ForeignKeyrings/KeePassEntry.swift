import LatchkeySodium

/// An entry of a KeePass database, as the XML has it. Its values stay in the XML.
struct KeePassEntry {
  /// A field, and where its value is.
  struct Field {
    let key: String
    let value: Range<Int>
    /// Whether KeePass hides the value, as it does with passwords.
    let isProtected: Bool
    /// Whether the value is encrypted by itself. keepassxc-cli never writes one so.
    let isEncrypted: Bool
  }

  /// In hexadecimal with capitals.
  var uuid = ""
  var created: UInt64 = 0
  var modified: UInt64 = 0
  private(set) var fields: [Field] = []
  private var keys: Set<String> = []
  var files: [(name: String, reference: String)] = []
  /// The groups that it is in, without the database's own.
  var groups: [String] = []
  var isInBin = false

  /// The fields that every entry has.
  enum Standard: String, CaseIterable {
    case title = "Title"
    case user = "UserName"
    case password = "Password"
    case url = "URL"
    case notes = "Notes"
  }

  /// Adds a field. No program writes two with the same name.
  mutating func add(_ field: Field) throws(ForeignFileError) {
    guard keys.insert(field.key).inserted else { throw .damaged }
    fields.append(field)
  }

  func field(_ name: String) -> Field? { fields.first { $0.key == name } }

  /// A value as it is written, as text that is no secret. Bytes that are not UTF-8 are replaced.
  func text(_ field: Standard, _ bytes: borrowing SecureBytes) throws(ForeignFileError) -> String {
    guard let range = self.field(field.rawValue)?.value else { return "" }
    let value = try MarkupReader.secret(bytes, range)
    return value.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// Where keepassxc-cli finds it: its groups, and its title as it is written.
  func path(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> String {
    "/" + (groups + [try text(.title, bytes)]).joined(separator: "/")
  }
}
