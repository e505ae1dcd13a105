import LatchkeySecretClient
import LatchkeySodium

/// A database of KeePass as XML, in memory for secrets. KeePassXC's Secret Service finds its entries by the same attributes.
struct KeePassDocument: ExportForm {
  /// The names by which KeePassXC's Secret Service knows a secret that is not a password, and its content type.
  private static let dataName = "FDO_SECRETS_DATA"
  private static let typeName = "FDO_SECRETS_CONTENT_TYPE"
  /// Fields that every entry has.
  private static let standardFields: Set<String> = ["Title", "UserName", "Password", "URL", "Notes"]

  private var collections: [(title: String, entries: ExportedEntries)] = []
  private var files: [Secret] = []

  mutating func begin(_ collection: ListedCollection) { collections.append((collection.title, ExportedEntries())) }

  mutating func add(_ item: ListedItem, _ secret: Secret) -> (ExportReport.Outcome, String) {
    collections[collections.count - 1].entries.add(item, secret)
    return (.exported, "")
  }

  mutating func end() {}
  mutating func finish() {}

  /// The whole document.
  mutating func xml() throws -> SecureBytes {
    // Attached files come before the entries that they belong to, so the entries are written first.
    var groups = try SecretText()
    for collection in collections where !collection.entries.all.isEmpty {
      try groups.append("<Group><UUID>\(Self.uuid())</UUID><Name>\(Self.escaped(collection.title))</Name>")
      try write(collection.entries.all, to: &groups)
      try groups.append("</Group>")
    }
    var all = try SecretText()
    try all.append(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<KeePassFile><Meta><Generator>Latchkey</Generator><Binaries>")
    for (number, file) in files.enumerated() {
      try all.append("<Binary ID=\"\(number)\">")
      let encoded = try file.withBytes { try Base64.encode(secret: $0) }
      try all.append(encoded.bytes)
      try all.append("</Binary>")
    }
    try all.append("</Binaries></Meta><Root><Group><UUID>\(Self.uuid())</UUID><Name>Latchkey</Name>")
    let written = try groups.finish()
    try all.append(written.bytes)
    try all.append("</Group></Root></KeePassFile>\n")
    return try all.finish()
  }

  /// Entries by the groups that an import from KeePass noted.
  private mutating func write(_ entries: [ExportedEntry], to out: inout SecretText) throws {
    var groups: [String: [ExportedEntry]] = [:]
    for entry in entries { groups[entry.isLogin ? entry.attributes["group"] ?? "" : "", default: []].append(entry) }
    for (path, entries) in groups.sorted(by: { $0.key < $1.key }) {
      let names = path.split(separator: "/").map(String.init)
      for name in names { try out.append("<Group><UUID>\(Self.uuid())</UUID><Name>\(Self.escaped(name))</Name>") }
      for entry in entries { try write(entry, to: &out) }
      for _ in names { try out.append("</Group>") }
    }
  }

  private mutating func write(_ entry: ExportedEntry, to out: inout SecretText) throws {
    let times = [("CreationTime", entry.created), ("LastModificationTime", entry.modified)]
    try out.append("<Entry><UUID>\(Self.uuid())</UUID><Times>")
    for (name, time) in times { try out.append("<\(name)>\(UTCTime.text(time))</\(name)>") }
    try out.append("</Times>")
    for (name, text) in [("Title", entry.label), ("UserName", entry.user), ("URL", entry.url)] {
      try field(name, text, to: &out)
    }
    // The attributes by which a search finds the entry. The attributes from an import from KeePass are in the fields above already.
    if !entry.isLogin {
      for (name, text) in entry.attributes.sorted(by: { $0.key < $1.key }) where !Self.standardFields.contains(name) {
        try field(name, text, to: &out)
      }
    }
    for (field, name) in [(ExportedEntry.Field.notes, "Notes"), (.totp, "otp"), (.fields, "fields")] {
      if let secret = entry.secrets[field] { try write(secret, name, to: &out) }
    }
    if let secret = entry.secrets[.password] {
      if KeePassMarkup.takes(secret) {
        try write(secret, "Password", to: &out)
      } else {
        try field(Self.typeName, secret.contentType, to: &out)
        try attach(secret, Self.dataName, to: &out)
      }
    }
    for other in entry.others {
      if other.isFile {
        try attach(other.secret, other.name, to: &out)
      } else {
        try write(other.secret, other.name, to: &out)
      }
    }
    try out.append("</Entry>")
  }

  private func field(_ name: String, _ text: String, to out: inout SecretText) throws {
    try out.append("<String><Key>\(Self.escaped(name))</Key><Value>\(Self.escaped(text))</Value></String>")
  }

  private mutating func write(_ secret: Secret, _ name: String, to out: inout SecretText) throws {
    guard KeePassMarkup.takes(secret) else { return try attach(secret, name, to: &out) }
    try out.append("<String><Key>\(Self.escaped(name))</Key><Value ProtectInMemory=\"True\">")
    let text = try secret.withBytes { try KeePassMarkup.escaped($0) }
    try out.append(text.bytes)
    try out.append("</Value></String>")
  }

  private mutating func attach(_ secret: Secret, _ name: String, to out: inout SecretText) throws {
    try out.append("<Binary><Key>\(Self.escaped(name))</Key><Value Ref=\"\(files.count)\"/></Binary>")
    files.append(secret)
  }

  private static func uuid() -> String { Base64.encode(Sodium.randomBytes(16)) }

  /// Text that is not secret. A character that XML cannot hold becomes a question mark.
  private static func escaped(_ text: String) -> String {
    var out = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": out += "&amp;"
      case "<": out += "&lt;"
      case ">": out += "&gt;"
      case "\t", "\n", "\r": out += "&#\(scalar.value);"
      case "\0"..<" ", "\u{fffe}", "\u{ffff}": out += "?"
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out
  }
}

/// Secrets as text of XML.
enum KeePassMarkup {
  /// Whether XML can hold a secret: no control characters but tabulators and line ends.
  static func takes(_ secret: Secret) -> Bool {
    secret.isText
      && secret.withBytes { bytes in
        bytes.byteOffsets.allSatisfy { at in
          switch bytes[at] {
          // KeePassXC loses other characters, even a carriage return.
          case 0x09, 0x0a: true
          case 0..<0x20: false
          // U+FFFE and U+FFFF.
          case 0xef: !(bytes[at + 1] == 0xbf && bytes[at + 2] >= 0xbe)
          default: true
          }
        }
      }
  }

  /// The text of an element. Line ends and tabulators are escaped, because a reader could change them.
  static func escaped(_ text: RawSpan) throws(SodiumError) -> SecureBytes {
    var out = try SecureWriter(capacity: text.byteCount * 5)
    for at in text.byteOffsets {
      let entity: String? =
        switch text[at] {
        case UInt8(ascii: "&"): "&amp;"
        case UInt8(ascii: "<"): "&lt;"
        case UInt8(ascii: ">"): "&gt;"
        case 0x09: "&#9;"
        case 0x0a: "&#10;"
        default: nil
        }
      if let entity {
        for octet in entity.utf8 { out.append(octet) }
      } else {
        out.append(text[at])
      }
    }
    return try out.finish()
  }
}
