import LatchkeySecretClient
import LatchkeySodium

/// Expands the values of KeePass: `{REF:P@I:…}` is another entry's password, `{TITLE}` the entry's own title. It expands a value as
/// KeePassXC does, or not at all.
struct KeePassReferences {
  /// The reason why a value is not imported.
  enum Refusal: Error, Equatable {
    /// The value refers to a missing entry or field.
    case noTarget
    /// The value leads back to itself, or over more entries than KeePassXC follows.
    case endless
    /// The value expands to more than a vault accepts.
    case tooLarge
    /// The value has a placeholder whose value only KeePass knows, such as the time of day.
    case placeholder(String)
    /// The value would bring a secret into an attribute, and attributes are less protected.
    case secretInAttribute
    /// The value is encrypted separately.
    case encrypted
    case file(ForeignFileError)
  }

  /// The use of a value, which decides what the value may contain.
  enum Use {
    case secret
    case attribute
    /// Notes are for people and may explain a placeholder, so only references are followed there.
    case notes
  }

  /// The most references that may follow each other. KeePassXC follows fewer.
  private static let depthLimit = 10
  /// The largest value to which other values may refer, and the most bytes that an expansion may add.
  private static let sizeLimit = 1 << 20
  /// The most placeholders to which one value, and all values together, may lead.
  private static let (valueLimit, allLimit) = (1000, 1_000_000)

  private let entries: [KeePassEntry]
  /// The first entry with a text, for each field that is searched.
  private var found: [KeePassEntry.Standard: [String: Int]] = [:]
  private var uuids: [String: Int] = [:]
  private var steps = 0
  private var stepsOfValue = 0
  /// How large the value may become.
  private var limit = 0
  /// The number of values that were compared with a searched text.
  private var comparisons = 0

  init(_ entries: [KeePassEntry]) {
    self.entries = entries
    for (index, entry) in entries.enumerated() where !entry.uuid.isEmpty && uuids[entry.uuid] == nil {
      uuids[entry.uuid] = index
    }
  }

  /// A value in expanded form.
  mutating func value(
    _ field: KeePassEntry.Field, of entry: Int, as use: Use, _ bytes: borrowing SecureBytes
  ) throws(Refusal) -> SecureBytes {
    guard !field.isEncrypted else { throw .encrypted }
    let text = try Self.decoded(field.value, bytes)
    guard !Self.isPlain(text), use != .secret || !Self.isKeySequence(field, text) else { return text }
    (stepsOfValue, limit) = (0, text.count + Self.sizeLimit)
    do {
      var out = try SecretText(capacity: text.count + 256)
      try expand(text, of: entry, as: use, depth: 0, bytes, &out)
      return try out.finish()
    } catch let refusal as Refusal { throw refusal } catch { throw .file(.noMemory) }
  }

  private static func decoded(_ range: Range<Int>, _ bytes: borrowing SecureBytes) throws(Refusal) -> SecureBytes {
    do { return try MarkupReader.secret(bytes, range) } catch { throw .file(error) }
  }

  private static func isPlain(_ text: borrowing SecureBytes) -> Bool {
    text.index(of: UInt8(ascii: "{"), in: 0..<text.count) == nil
  }

  /// Whether a further field says which keys to press. That field's placeholders are not values.
  private static func isKeySequence(_ field: KeePassEntry.Field, _ text: borrowing SecureBytes) -> Bool {
    guard KeePassEntry.Standard(rawValue: field.key) == nil else { return false }
    var at = 0
    while let place = placeholder(text, from: at) {
      if text.equals("TAB", place) || text.equals("ENTER", place) { return true }
      at = place.upperBound
    }
    return false
  }

  /// The next text between braces that has no brace inside.
  private static func placeholder(_ text: borrowing SecureBytes, from start: Int) -> Range<Int>? {
    guard var open = text.index(of: UInt8(ascii: "{"), in: start..<text.count) else { return nil }
    for at in (open + 1)..<max(open + 1, text.count) {
      switch text.octet(at) {
      case UInt8(ascii: "{"): open = at
      case UInt8(ascii: "}"): return (open + 1)..<at
      default: break
      }
    }
    return nil
  }

  private mutating func expand(
    _ text: borrowing SecureBytes, of entry: Int, as use: Use, depth: Int, _ bytes: borrowing SecureBytes,
    _ out: inout SecretText
  ) throws {
    guard depth <= Self.depthLimit else { throw Refusal.endless }
    var (written, checked, at) = (0, 0, 0)
    while let place = Self.placeholder(text, from: at) {
      at = place.upperBound + 1
      // An earlier brace has no end, and cannot begin a reference.
      try Self.checkRest(text, checked..<(place.lowerBound - 1), use)
      checked = at
      guard let target = try target(text, place, of: entry, as: use, bytes) else { continue }
      stepsOfValue += 1
      steps += 1
      guard stepsOfValue <= Self.valueLimit, steps <= Self.allLimit else { throw Refusal.tooLarge }
      try append(text.bytes.extracting(written..<(place.lowerBound - 1)), to: &out)
      written = at
      switch target {
      case .uuid(let uuid): try append(Array(uuid.utf8).span.bytes, to: &out)
      case .field(let name, let other):
        guard let field = entries[other].field(name) else { continue }
        guard !field.isEncrypted else { throw Refusal.encrypted }
        guard field.value.count <= Self.sizeLimit else { throw Refusal.tooLarge }
        let value = try Self.decoded(field.value, bytes)
        let isNotes = name == KeePassEntry.Standard.notes.rawValue
        let next: Use = use == .attribute ? .attribute : isNotes ? .notes : .secret
        try expand(value, of: other, as: next, depth: depth + 1, bytes, &out)
      }
    }
    try Self.checkRest(text, checked..<text.count, use)
    try append(text.bytes.extracting(written..<text.count), to: &out)
  }

  private func append(_ more: RawSpan, to out: inout SecretText) throws {
    guard out.count + more.byteCount <= limit else { throw Refusal.tooLarge }
    try out.append(more)
  }

  /// Refuses a reference that has braces inside, or no end.
  private static func checkRest(_ text: borrowing SecureBytes, _ range: Range<Int>, _ use: Use) throws(Refusal) {
    var at = range.lowerBound
    while let open = text.index(of: UInt8(ascii: "{"), in: at..<range.upperBound) {
      at = open + 1
      for name in ["REF:", "T-CONV:", "T-REPLACE-RX:"] where text.begins(name, at..<range.upperBound) {
        if use != .notes || name == "REF:" { throw .placeholder(name) }
      }
    }
  }

  /// The meaning of a placeholder.
  private enum Target {
    case field(String, of: Int)
    case uuid(String)
  }

  /// Placeholders for fields of the same entry.
  private static let own: [(name: String, field: KeePassEntry.Standard)] = [
    ("TITLE", .title), ("USERNAME", .user), ("PASSWORD", .password), ("URL", .url), ("NOTES", .notes),
  ]
  /// Placeholders whose values depend on the moment, on the file's path, or on KeePass itself.
  private static let changing = [
    "TOTP", "TIMEOTP", "HMACOTP", "GROUP", "GROUP_PATH", "GROUPPATH", "GROUP_NOTES", "DB_PATH", "DB_DIR", "DB_NAME",
    "DB_BASENAME", "DB_EXT", "APPDIR", "CLIPBOARD", "NEWPASSWORD", "PASSWORD_ENC", "PICKCHARS", "PICKFIELD", "BASE",
    "ENV_DIRSEP", "WDIR",
  ]
  private static let changingBeginnings = [
    "URL:", "DT_", "T-CONV:", "T-REPLACE-RX:", "CMD:", "C:", "NEWPASSWORD:", "PICKCHARS:", "CLIPBOARD-SET:", "BASE:",
  ]

  /// - Returns: nil for braces that mean nothing.
  private mutating func target(
    _ text: borrowing SecureBytes, _ place: Range<Int>, of entry: Int, as use: Use, _ bytes: borrowing SecureBytes
  ) throws -> Target? {
    if text.begins("REF:", place) { return try reference(text, place, as: use, bytes) }
    guard use != .notes else { return nil }
    for (name, field) in Self.own where text.equals(name, place) {
      if use == .attribute, field == .password || field == .notes { throw Refusal.secretInAttribute }
      return .field(field.rawValue, of: entry)
    }
    if text.equals("UUID", place) { return .uuid(entries[entry].uuid) }
    if text.begins("S:", place) {
      let name = text.text((place.lowerBound + 2)..<place.upperBound)
      guard let name, let field = entries[entry].field(name) else { throw Refusal.noTarget }
      if use == .attribute, field.isProtected { throw Refusal.secretInAttribute }
      return .field(name, of: entry)
    }
    if let name = Self.changing.first(where: { text.equals($0, place) }) { throw Refusal.placeholder(name) }
    if let name = Self.changingBeginnings.first(where: { text.begins($0, place) }) { throw Refusal.placeholder(name) }
    return nil
  }

  private static func field(_ octet: UInt8) -> KeePassEntry.Standard? {
    switch octet & 0xdf {
    case UInt8(ascii: "T"): .title
    case UInt8(ascii: "U"): .user
    case UInt8(ascii: "P"): .password
    case UInt8(ascii: "A"): .url
    case UInt8(ascii: "N"): .notes
    default: nil
    }
  }

  /// The target of `REF:`, the wanted field, `@`, the searched field, `:` and the text that is searched.
  private mutating func reference(
    _ text: borrowing SecureBytes, _ place: Range<Int>, as use: Use, _ bytes: borrowing SecureBytes
  ) throws -> Target {
    let start = place.lowerBound + 4
    guard place.upperBound > start + 4, text.octet(start + 1) == UInt8(ascii: "@"),
      text.octet(start + 3) == UInt8(ascii: ":")
    else { throw Refusal.placeholder("REF:") }
    let (wanted, searched) = (text.octet(start), text.octet(start + 2))
    guard let entry = try search(text, (start + 4)..<place.upperBound, in: searched, bytes) else {
      throw Refusal.noTarget
    }
    if wanted & 0xdf == UInt8(ascii: "I") { return .uuid(entries[entry].uuid) }
    guard let field = Self.field(wanted) else { throw Refusal.placeholder("REF:") }
    if use == .attribute, field == .password || field == .notes { throw Refusal.secretInAttribute }
    return .field(field.rawValue, of: entry)
  }

  /// The first entry whose field equals the text, in the order of the database. The recycle bin counts.
  private mutating func search(
    _ text: borrowing SecureBytes, _ range: Range<Int>, in searched: UInt8, _ bytes: borrowing SecureBytes
  ) throws -> Int? {
    if searched & 0xdf == UInt8(ascii: "I") {
      return text.text(range).flatMap { uuids[$0.uppercased().split(separator: "-").joined()] }
    }
    let field = Self.field(searched)
    guard let field, field != .password, field != .notes else {
      guard field != nil || searched & 0xdf == UInt8(ascii: "O") else { throw Refusal.placeholder("REF:") }
      return try searchSecrets(text, range, in: field, bytes)
    }
    if found[field] == nil {
      var index: [String: Int] = [:]
      for (number, entry) in entries.enumerated() {
        let value = try entry.text(field, bytes)
        if index[value] == nil { index[value] = number }
      }
      found[field] = index
    }
    return text.text(range).flatMap { found[field]?[$0] }
  }

  /// - Parameter field: nil for any field.
  private mutating func searchSecrets(
    _ text: borrowing SecureBytes, _ range: Range<Int>, in field: KeePassEntry.Standard?, _ bytes: borrowing SecureBytes
  ) throws -> Int? {
    for (number, entry) in entries.enumerated() {
      for one in entry.fields where (field == nil || one.key == field?.rawValue) && one.value.count <= Self.sizeLimit {
        comparisons += 1
        guard comparisons <= Self.allLimit else { throw Refusal.tooLarge }
        let value = try Self.decoded(one.value, bytes)
        if value.equals(text, range) { return number }
      }
    }
    return nil
  }
}

extension SecureBytes {
  /// Whether a part has these bytes.
  fileprivate borrowing func equals(_ other: borrowing SecureBytes, _ range: Range<Int>) -> Bool {
    Sodium.equal(bytes, other.bytes.extracting(range))
  }

  /// Whether a part, in capitals, is this word.
  fileprivate borrowing func equals(_ word: String, _ range: Range<Int>) -> Bool {
    range.count == word.utf8.count && begins(word, range)
  }

  /// Whether a part, in capitals, begins with this word.
  fileprivate borrowing func begins(_ word: String, _ range: Range<Int>) -> Bool {
    guard range.count >= word.utf8.count else { return false }
    return zip(word.utf8, range).allSatisfy { letter, place in
      letter == self[place] || (0x61...0x7a).contains(self[place]) && letter == self[place] & 0xdf
    }
  }
}
