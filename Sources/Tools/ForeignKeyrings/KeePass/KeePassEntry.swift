import LatchkeySodium

/// An entry of a KeePass database. It has the places of the values in the XML, and not the values.
struct KeePassEntry {
  /// A field, and the place of its value.
  struct Field {
    let key: String
    let value: Range<Int>
    /// Whether KeePass hides the value, like a password.
    let isProtected: Bool
    /// Whether the value is encrypted separately. keepassxc-cli never writes such a value.
    let isEncrypted: Bool
  }

  /// The entry's id, in hexadecimal with capitals.
  var uuid = ""
  var created: UInt64 = 0
  var modified: UInt64 = 0
  private(set) var fields: [Field] = []
  private var keys: Set<String> = []
  var files: [(name: String, reference: String)] = []
  /// The groups that contain the entry, without the database's own group.
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

  /// A value in its written form, as text that is not secret. Bytes that are not UTF-8 are replaced.
  func text(_ field: Standard, _ bytes: borrowing SecureBytes) throws(ForeignFileError) -> String {
    guard let range = self.field(field.rawValue)?.value else { return "" }
    let value = try MarkupReader.secret(bytes, range)
    return value.bytes.text
  }

  /// The path by which keepassxc-cli finds the entry: its groups, and its title in its written form.
  func path(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> String {
    "/" + (groups + [try text(.title, bytes)]).joined(separator: "/")
  }
}
