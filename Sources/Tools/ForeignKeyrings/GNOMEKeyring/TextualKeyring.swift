import LatchkeySecretClient
import LatchkeySodium

/// gnome-keyring's file without encryption, in the form of a key file: `[keyring]`, `[5]` for an item, `[5:attribute0]` for one
/// of its attributes.
///
/// gnome-keyring writes a secret as it is, with line ends and backslashes, and then cannot read its own file any more. This
/// parser continues such a secret until a line that only gnome-keyring can have written. Everything else is escaped.
enum TextualKeyring {
  private static let start: [UInt8] = Array("[keyring]".utf8)

  static func isOne(_ bytes: borrowing SecureBytes) -> Bool {
    // A comment may come before the first group.
    var at = 0
    while at < bytes.count, bytes[at] == UInt8(ascii: "#") || bytes[at] == UInt8(ascii: "\n") {
      guard let end = bytes.index(of: UInt8(ascii: "\n"), in: at..<bytes.count) else { return false }
      at = end + 1
    }
    return bytes.bytes.extracting(droppingFirst: at).starts(with: start)
  }

  static func read(_ bytes: borrowing SecureBytes, name: String) throws(ForeignFileError) -> ForeignCollection {
    var parsed = TextualKeyringParser()
    var offset = 0
    while offset < bytes.count {
      let end = bytes.lineEnd(from: offset)
      defer { offset = end + 1 }
      try parsed.take(offset..<end, of: bytes)
    }
    parsed.endSecret(before: bytes.count, of: bytes)
    var items: [ForeignItem] = []
    for number in parsed.order {
      if let item = parsed.items[number] { items.append(try item.finished(bytes)) }
    }
    return ForeignCollection(name: name, label: parsed.label, firstLabel: name, items: items)
  }

  /// An item whose groups are being read.
  struct Item {
    var label = ""
    var type: UInt32 = 0
    /// Whether the item has a group of its own, and not only attributes.
    var isListed = false
    /// The place of the secret.
    var secret: Range<Int>?
    var isHexadecimal = false
    var created: UInt64 = 0
    var modified: UInt64 = 0
    /// The attributes, by the numbers of their groups.
    var attributes: [String: (name: String?, value: String)] = [:]

    func finished(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> ForeignItem {
      var found: [String: String] = [:]
      for attribute in attributes.values {
        if let name = attribute.name { found[name] = attribute.value }
      }
      if found[KeyringFile.schemaName] == nil { found[KeyringFile.schemaName] = KeyringFile.schema(ofType: type) }
      let place = secret ?? 0..<0
      let value = isHexadecimal ? try bytes.decodedHexadecimal(place) : try bytes.part(place)
      return ForeignItem(
        label: label, attributes: found, secret: Secret(value), created: created, modified: modified)
    }
  }
}
