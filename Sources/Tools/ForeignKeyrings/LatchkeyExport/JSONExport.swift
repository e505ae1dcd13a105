import LatchkeySecretClient
import LatchkeySodium

/// A file that `latchkey export json` wrote; FORMAT.md has its form.
public struct JSONExport {
  /// The format that every such file names.
  public static let format = "latchkey-export"
  /// The only version of the format.
  public static let version: UInt64 = 1
  /// The largest size of such a file. An export writes no larger file.
  public static let sizeLimit = 256 << 20

  /// The collections, in the order of the file.
  public private(set) var collections: [ForeignCollection] = []
  /// The name of the collection for programs that name no collection; nil if the file does not say it.
  public private(set) var standard: String?

  private var reader = JSONReader()
  private var count = 0

  /// Reads the whole file. Names that this version does not know are skipped.
  public init(_ bytes: borrowing SecureBytes) throws(ForeignFileError) {
    guard bytes.bytes.isText else { throw .notText }
    var seen: Set<String> = []
    do throws(ForeignFileError) { try reader.begin("{", bytes) } catch { throw .unknownFormat }
    while let name = try reader.nextName(bytes) {
      guard seen.insert(name).inserted else { throw .damaged }
      switch name {
      case "format": guard try reader.plain(bytes) == Self.format else { throw .unknownFormat }
      case "version": guard try reader.number(bytes) == Self.version else { throw .newerExport }
      case "default": standard = try reader.plain(bytes)
      case "collections":
        try reader.begin("[", bytes)
        while try reader.hasNext(until: "]", bytes) { collections.append(try collection(bytes)) }
      default: try reader.skip(bytes)
      }
    }
    try reader.expectEnd(bytes)
    guard seen.isSuperset(of: ["format", "version"]) else { throw .unknownFormat }
    guard seen.contains("collections") else { throw .damaged }
  }

  private mutating func collection(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> ForeignCollection {
    var seen: Set<String> = []
    var (collectionName, label) = ("", "")
    var items: [ForeignItem] = []
    try reader.begin("{", bytes)
    while let name = try reader.nextName(bytes) {
      guard seen.insert(name).inserted else { throw .damaged }
      switch name {
      case "name": collectionName = try reader.plain(bytes)
      case "label": label = try reader.plain(bytes)
      case "items":
        try reader.begin("[", bytes)
        while try reader.hasNext(until: "]", bytes) {
          count += 1
          guard count <= KeyringFile.itemLimit else { throw .tooLarge }
          items.append(try item(bytes))
        }
      default: try reader.skip(bytes)
      }
    }
    guard !collectionName.isEmpty, seen.contains("items") else { throw .damaged }
    return ForeignCollection(name: collectionName, label: label, items: items)
  }

  private mutating func item(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> ForeignItem {
    var seen: Set<String> = []
    var texts: [String: String] = [:]
    var times: [String: UInt64] = [:]
    var attributes: [String: String] = [:]
    var secret: JSONReader.Text?
    var encoded: JSONReader.Text?
    try reader.begin("{", bytes)
    while let name = try reader.nextName(bytes) {
      guard seen.insert(name).inserted else { throw .damaged }
      switch name {
      case "label", "class", "require", "content_type": texts[name] = try reader.plain(bytes)
      case "created", "modified": times[name] = try reader.number(bytes)
      case "attributes": attributes = try self.attributes(bytes)
      case "secret": secret = try reader.optionalText(bytes)
      case "secret_base64": encoded = try reader.optionalText(bytes)
      default: try reader.skip(bytes)
      }
    }
    guard seen.isSuperset(of: ["label", "attributes"]), (secret == nil) != (encoded == nil) else { throw .damaged }
    let value: SecureBytes
    if let secret {
      value = try JSONReader.secret(secret, bytes)
    } else if let encoded {
      value = try Self.decoded(encoded, bytes)
    } else {
      throw .damaged
    }
    return ForeignItem(
      label: texts["label"] ?? "", attributes: attributes, secret: Secret(value, contentType: texts["content_type"]),
      created: times["created"] ?? 0, modified: times["modified"] ?? 0,
      protection: .init(accessible: texts["class"] ?? "", require: texts["require"] ?? ""))
  }

  private mutating func attributes(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> [String: String] {
    var attributes: [String: String] = [:]
    try reader.begin("{", bytes)
    while let name = try reader.nextName(bytes) {
      guard attributes.count < KeyringFile.attributeLimit else { throw .tooLarge }
      guard attributes.updateValue(try reader.plain(bytes), forKey: name) == nil else { throw .damaged }
    }
    return attributes
  }

  private static func decoded(
    _ text: JSONReader.Text, _ bytes: borrowing SecureBytes
  ) throws(ForeignFileError) -> SecureBytes {
    let encoded = try JSONReader.secret(text, bytes)
    let value: SecureBytes?
    do { value = try Base64.decode(secret: encoded.bytes) } catch { throw .noMemory }
    guard let value else { throw .damaged }
    return value
  }
}
