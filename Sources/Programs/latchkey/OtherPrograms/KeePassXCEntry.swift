/// An entry of KeePassXC as its Secret Service shows it: the attributes that a program stored, and the entry's own.
struct KeePassXCEntry {
  /// The attributes that KeePassXC adds to each entry, and the type of a secret that is not text.
  static let names = ["Title", "UserName", "URL", "Notes", "TOTP", "Uuid", "Path", "FDO_SECRETS_CONTENT_TYPE"]
  /// The attributes that may be secrets.
  private static let secretNames = ["Notes", "TOTP"]

  /// The program's attributes, unchanged. An entry that a person made keeps its own attributes, which distinguish it.
  let attributes: [String: String]
  /// Whether a part of the entry is in no attribute any more.
  let isPart: Bool

  /// - Parameters:
  ///   - attributes: all attributes that the service shows.
  ///   - path: the item's path.
  /// - Returns: nil if the item is not an entry of KeePassXC.
  init?(_ attributes: [String: String], at path: String) {
    guard let uuid = attributes["Uuid"], attributes["Path"] != nil, path.hasSuffix("/" + uuid) else { return nil }
    let stored = attributes.filter { !Self.names.contains($0.key) }
    self.attributes =
      stored.isEmpty ? attributes.filter { !Self.secretNames.contains($0.key) && !$0.value.isEmpty } : stored
    isPart = Self.secretNames.contains { !(attributes[$0] ?? "").isEmpty }
  }
}
