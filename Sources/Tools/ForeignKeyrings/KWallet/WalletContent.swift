import LatchkeySecretClient
import LatchkeySodium
import LatchkeyText

/// KWallet's note about an item that a program stored by the Secret Service.
public struct ServedEntry {
  /// The attributes as the program gave them.
  public let attributes: [String: String]
  /// The content type; nil if the program named no type.
  public let contentType: String?
  /// When the entry was stored, in seconds since 1970; 0 if the time is unknown.
  public let created: UInt64
  /// When the entry was last changed.
  public let modified: UInt64

  /// Puts the entry together.
  public init(attributes: [String: String], contentType: String?, created: UInt64, modified: UInt64) {
    (self.attributes, self.contentType) = (attributes, contentType)
    (self.created, self.modified) = (created, modified)
  }
}

/// The entries of a wallet, as KWallet's own programs look for them in a Secret Service: the schema is org.qt.keychain,
/// `server` the folder, `user` the entry. An entry that a program stored by KWallet's Secret Service has that program's
/// attributes.
public enum WalletContent {
  /// The kind of an entry.
  public enum Kind: Int32, Sendable {
    case password = 1
    case stream = 2
    case map = 3
  }

  /// The folder of items that programs stored by the Secret Service with a label that has no slash.
  private static let servedFolder = "Secret Service"

  /// Reads the decrypted content: folders, and in each its entries.
  static func items(
    _ bytes: borrowing SecureBytes, in range: Range<Int>, served: [String: ServedEntry]
  ) throws(ForeignFileError) -> [ForeignItem] {
    var reader = SecretReader(range)
    var items: [ForeignItem] = []
    while reader.remaining > 0 {
      let folder = WideText(try reader.counted(bytes)).text(bytes)
      for _ in 0..<(try reader.number(bytes)) {
        guard items.count < KeyringFile.itemLimit else { throw .tooLarge }
        let entry = WideText(try reader.counted(bytes)).text(bytes)
        guard let kind = Kind(rawValue: Int32(bitPattern: try reader.number(bytes))) else { throw .damaged }
        let value = try reader.counted(bytes) ?? 0..<0
        items.append(try item(bytes, value, kind, folder: folder, entry: entry, served: served["\(folder)/\(entry)"]))
      }
    }
    return items
  }

  /// One entry, with its value in Qt's form.
  public static func item(
    _ bytes: borrowing SecureBytes, _ value: Range<Int>, _ kind: Kind, folder: String, entry: String,
    served: ServedEntry? = nil
  ) throws(ForeignFileError) -> ForeignItem {
    if let served, !isKWalletsOwn(served, folder: folder, entry: entry) {
      let text = try text(bytes, value, kind)
      let secret = if let text { text } else { try bytes.part(value) }
      return ForeignItem(
        label: label(folder: folder, entry: entry), attributes: served.attributes,
        secret: Secret(secret, contentType: served.contentType), created: served.created, modified: served.modified)
    }
    var type = kind == .map ? "map" : "plaintext"
    let text = try text(bytes, value, kind)
    // An entry that is not text keeps its bytes, in a form that KWallet reads.
    if text == nil { type = "base64" }
    let secret = if let text { text } else { try base64(bytes, value) }
    return ForeignItem(
      label: "\(folder)/\(entry)",
      attributes: [KeyringFile.schemaName: "org.qt.keychain", "server": folder, "user": entry, "type": type],
      secret: Secret(secret, contentType: "text/plain"))
  }

  /// A value as text in UTF-8; nil for a stream, and for a malformed value.
  private static func text(
    _ bytes: borrowing SecureBytes, _ value: Range<Int>, _ kind: Kind
  ) throws(ForeignFileError) -> SecureBytes? {
    switch kind {
    case .password: try password(bytes, value)
    case .map: try map(bytes, value)
    case .stream: nil
    }
  }

  /// Whether KWallet made up these attributes itself, for an entry that no program of the Secret Service stored.
  private static func isKWalletsOwn(_ served: ServedEntry, folder: String, entry: String) -> Bool {
    var rest = served.attributes
    for (name, value) in [("server", folder), ("user", entry)] where rest[name] == value { rest[name] = nil }
    rest["type"] = nil
    return rest.isEmpty
  }

  /// The label that the program gave. KWallet adds a number to a label that it has already.
  private static func label(folder: String, entry: String) -> String {
    var name = Substring(entry)
    if name.hasSuffix("_"), let start = name.ranges(ofText: "__").last {
      let number = name[start.upperBound...].dropLast()
      if !number.isEmpty, number.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { name = name[..<start.lowerBound] }
    }
    return folder == servedFolder ? String(name) : "\(folder)/\(name)"
  }

  private static func base64(
    _ bytes: borrowing SecureBytes, _ value: Range<Int>
  ) throws(ForeignFileError) -> SecureBytes {
    do { return try Base64.encode(secret: bytes.bytes.extracting(value)) } catch { throw .noMemory }
  }

  /// A string as UTF-8; nil if it is malformed.
  private static func password(
    _ bytes: borrowing SecureBytes, _ value: Range<Int>
  ) throws(ForeignFileError) -> SecureBytes? {
    var reader = SecretReader(value)
    if reader.remaining == 0 { return try bytes.part(value) }
    guard let text = try? reader.counted(bytes) ?? 0..<0, reader.remaining == 0, text.count.isMultiple(of: 2) else {
      return nil
    }
    var writer = try SecretWriter(capacity: 3 * (text.count / 2))
    WideText(text).scalars(bytes) { writer.append($0) }
    return try writer.finish()
  }

  /// A map as compact JSON in the order of its keys, as Qt writes it; nil if it is malformed.
  private static func map(
    _ bytes: borrowing SecureBytes, _ value: Range<Int>
  ) throws(ForeignFileError) -> SecureBytes? {
    guard let pairs = try? pairs(bytes, value) else { return nil }
    // A unit of UTF-16 takes six bytes at most, and a pair takes six more.
    var writer = try SecretWriter(capacity: 4 * value.count + 8)
    writer.append("{")
    for (index, pair) in pairs.enumerated() {
      if index > 0 { writer.append(",") }
      writer.appendQuoted(WideText(pair.keyRange), of: bytes)
      writer.append(":")
      writer.appendQuoted(WideText(pair.valueRange), of: bytes)
    }
    writer.append("}")
    return try writer.finish()
  }

  private static func pairs(
    _ bytes: borrowing SecureBytes, _ value: Range<Int>
  ) throws(ForeignFileError) -> [(keyRange: Range<Int>, valueRange: Range<Int>)] {
    var reader = SecretReader(value)
    if reader.remaining == 0 { return [] }
    var found: [(keyRange: Range<Int>, valueRange: Range<Int>)] = []
    for _ in 0..<(try reader.number(bytes)) {
      let key = try reader.counted(bytes) ?? 0..<0
      let value = try reader.counted(bytes) ?? 0..<0
      guard key.count.isMultiple(of: 2), value.count.isMultiple(of: 2) else { throw .damaged }
      found.append((key, value))
    }
    guard reader.remaining == 0 else { throw .damaged }
    // The sort uses places, because a key can be a secret. With the high byte first, bytes have the order of the text's units.
    let all = bytes.bytes
    found.sort { one, other in
      let places = zip(one.keyRange, other.keyRange)
      guard let (place, its) = places.first(where: { all[$0] != all[$1] }) else {
        return one.keyRange.count < other.keyRange.count
      }
      return all[place] < all[its]
    }
    return found
  }
}
