import LatchkeyBytes
import LatchkeyKeybag

/// The decrypted metadata of an item, and the revision (16 bytes) of the secret that belongs to it.
typealias OpenedMetadata = (metadata: ItemMetadata, revision: [UInt8])

/// Everything in an item but its secret; sealed as one value.
public struct ItemMetadata: Equatable, Sendable {
  /// The label, for a person.
  public var label: String
  /// The attributes by which a search finds the item. Control attributes (`latchkey:…`) are not among them.
  public var attributes: [String: String]
  /// The secret's content type, as "text/plain".
  public var contentType: String
  /// Access control flags (SecAccessControlCreateFlags' bits); 0 without flags. The flags are also bound to the secret.
  public var flags: UInt32
  /// The fingers that were enrolled when the item began to require them; present exactly if the flags say so.
  public var fingers: FingerSet?

  /// Puts the values together.
  public init(
    label: String, attributes: [String: String], contentType: String, flags: UInt32 = 0, fingers: FingerSet? = nil
  ) {
    self.label = label
    self.attributes = attributes
    self.contentType = contentType
    self.flags = flags
    self.fingers = fingers
  }

  /// Whether the item must remember fingers (`biometryCurrentSet`).
  var requiresFingers: Bool { flags & AccessControl.Condition.biometryCurrentSet.rawValue != 0 }

  /// The most attributes an item may have: each costs an entry of the index, and time at every search.
  static let attributeLimit = 16384
  /// The most bytes of label, content type, names and values together.
  static let sizeLimit = 16 << 20

  /// Refuses metadata that is larger than a vault keeps.
  ///
  /// - Throws: ``VaultError/tooLarge``.
  public func checkSize() throws(VaultError) {
    // The format has 16 bits for the content type's length.
    guard attributes.count <= ItemMetadata.attributeLimit, contentType.utf8.count <= Int(UInt16.max) else {
      throw .tooLarge
    }
    guard size <= ItemMetadata.sizeLimit else { throw .tooLarge }
  }

  /// The bytes of label, content type, names and values together.
  public var size: Int {
    attributes.reduce(label.utf8.count + contentType.utf8.count) { $0 + $1.key.utf8.count + $1.value.utf8.count }
  }

  /// The prefix of the names of control attributes.
  public static let reservedPrefix = "latchkey:"

  /// Whether a program could have stored this: no text of D-Bus has a NUL, and control attributes are not kept.
  var isPossible: Bool {
    let texts = [label, contentType] + attributes.flatMap { [$0.key, $0.value] }
    return texts.allSatisfy { !$0.utf8.contains(0) }
      && !attributes.keys.contains { $0.hasPrefix(ItemMetadata.reservedPrefix) }
  }

  /// Padding hides the exact sizes of labels and attributes: lengths are multiples of this.
  static let padding = 64

  /// The plaintext that is sealed. `revision` (16 bytes) names the secret that belongs to it, so that the halves of two
  /// versions of an item cannot be put together.
  public func encoded(revision: [UInt8]) -> [UInt8] {
    var out = ByteWriter()
    out.put(revision)
    out.number(flags)
    if requiresFingers, let fingers { out.put(fingers.encoded) }
    out.text(contentType)
    out.long(Array(label.utf8))
    out.number(UInt32(attributes.count))
    for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
      out.long(Array(name.utf8))
      out.long(Array(value.utf8))
    }
    let rest = (ItemMetadata.padding - out.bytes.count % ItemMetadata.padding) % ItemMetadata.padding
    out.put([UInt8](repeating: 0, count: rest))
    return out.bytes
  }

  static func decode(_ bytes: [UInt8]) throws(ByteReader.Truncated) -> OpenedMetadata {
    var input = ByteReader(bytes)
    let revision = try input.take(16)
    let flags: UInt32 = try input.number()
    var metadata = ItemMetadata(label: "", attributes: [:], contentType: "", flags: flags)
    if metadata.requiresFingers { metadata.fingers = try FingerSet(decoding: &input) }
    metadata.contentType = try input.text()
    metadata.label = String(decoding: try input.long(), as: UTF8.self)
    let count: UInt32 = try input.number()
    for _ in 0..<count {
      let name = String(decoding: try input.long(), as: UTF8.self)
      metadata.attributes[name] = String(decoding: try input.long(), as: UTF8.self)
    }
    return (metadata, revision)
  }
}
