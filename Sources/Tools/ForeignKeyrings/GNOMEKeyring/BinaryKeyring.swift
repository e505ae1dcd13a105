import LatchkeyGcrypt
import LatchkeySecretClient
import LatchkeySodium

/// gnome-keyring's encrypted file: a header and hashed attributes in the clear, then everything under AES-128-CBC. Key and IV
/// are SHA-256 of password and salt, repeated some thousand times. An MD5 of the content shows whether they are right. Numbers
/// are big-endian.
enum BinaryKeyring {
  private static let magic: [UInt8] = Array("GnomeKeyring\n\r\0\n".utf8)
  /// gnome-keyring chooses 1,000 to 4,096 rounds. More rounds than this limit only make a person wait.
  private static let roundLimit = 100_000
  private static let saltSize = 8
  private static let checkSize = 16

  static func isOne(_ bytes: borrowing SecureBytes) -> Bool {
    bytes.bytes.starts(with: magic)
  }

  /// The keyring's label, which is in the clear.
  static func label(of bytes: borrowing SecureBytes) throws(ForeignFileError) -> String {
    var reader = SecretReader(0..<bytes.count)
    return try label(bytes, &reader)
  }

  private static func label(
    _ bytes: borrowing SecureBytes, _ reader: inout SecretReader
  ) throws(ForeignFileError) -> String {
    _ = try reader.range(magic.count)
    // Version 0.0, AES, MD5.
    guard try reader.number(bytes) == 0 else { throw .unknownVersion }
    return try reader.text(bytes)
  }

  static func read(
    _ bytes: borrowing SecureBytes, name: String, password: borrowing SecureBytes
  ) throws(ForeignFileError) -> ForeignCollection {
    var reader = SecretReader(0..<bytes.count)
    let label = try label(bytes, &reader)
    // The collection's times, flags and time limit.
    _ = try reader.range(8 + 8 + 4 + 4)
    let rounds = Int(try reader.number(bytes))
    guard (1...roundLimit).contains(rounds) else { throw .damaged }
    let salt = try reader.range(saltSize)
    // Reserved.
    _ = try reader.range(16)
    let types = try itemTypes(bytes, &reader)
    guard let sealed = try reader.counted(bytes), sealed.count.isMultiple(of: 16), sealed.count >= checkSize else {
      throw .damaged
    }
    let content = try decrypt(bytes, sealed, salt: salt, rounds: rounds, password: password)
    return ForeignCollection(name: name, label: label, firstLabel: name, items: try items(content, types))
  }

  /// Reads the decrypted content, with its check in front: one item for each type.
  static func items(
    _ content: borrowing SecureBytes, _ types: [UInt32]
  ) throws(ForeignFileError) -> [ForeignItem] {
    guard content.count >= checkSize else { throw .damaged }
    var reader = SecretReader(checkSize..<content.count)
    var items: [ForeignItem] = []
    for type in types { items.append(try item(content, &reader, type: type)) }
    return items
  }

  /// Reads the clear part: one type for each item. There an item's attributes are hashed, so they are of no use.
  private static func itemTypes(
    _ bytes: borrowing SecureBytes, _ reader: inout SecretReader
  ) throws(ForeignFileError) -> [UInt32] {
    let count = try reader.number(bytes)
    guard count <= KeyringFile.itemLimit else { throw .tooLarge }
    var types: [UInt32] = []
    for _ in 0..<count {
      // The item's number.
      _ = try reader.range(4)
      types.append(try reader.number(bytes))
      _ = try attributes(bytes, &reader)
    }
    return types
  }

  private static func attributes(
    _ bytes: borrowing SecureBytes, _ reader: inout SecretReader
  ) throws(ForeignFileError) -> [String: String] {
    let count = try reader.number(bytes)
    guard count <= KeyringFile.attributeLimit else { throw .tooLarge }
    var found: [String: String] = [:]
    for _ in 0..<count {
      let name = try reader.text(bytes)
      switch try reader.number(bytes) {
      case 0: found[name] = try reader.text(bytes)
      // A number. Clients see it as text.
      case 1: found[name] = String(try reader.number(bytes))
      default: throw .damaged
      }
    }
    return found
  }

  private static func decrypt(
    _ bytes: borrowing SecureBytes, _ sealed: Range<Int>, salt: Range<Int>, rounds: Int,
    password: borrowing SecureBytes
  ) throws(ForeignFileError) -> SecureBytes {
    do {
      var key = try SecureBytes(count: Digest.sha256.byteCount)
      var content = try SecureBytes(count: sealed.count)
      var check = try SecureBytes(count: checkSize)
      try Digest.sha256.hash(
        password.bytes, bytes.bytes.extracting(salt), rounds: rounds, into: key.mutableBytes)
      try UnpaddedCipher.aes.decrypt(
        bytes.bytes.extracting(sealed), key: key.bytes.extracting(first: 16),
        iv: key.bytes.extracting(droppingFirst: 16),
        into: content.mutableBytes)
      try Digest.md5.hash(content.bytes.extracting(droppingFirst: checkSize), into: check.mutableBytes)
      guard Sodium.equal(check.bytes, content.bytes.extracting(first: checkSize)) else {
        throw ForeignFileError.wrongPassword
      }
      return content
    } catch let error as ForeignFileError { throw error } catch { throw .noMemory }
  }

  private static func item(
    _ content: borrowing SecureBytes, _ reader: inout SecretReader, type: UInt32
  ) throws(ForeignFileError) -> ForeignItem {
    let label = try reader.text(content)
    let secret = try reader.counted(content) ?? 0..<0
    let created = try reader.time(content)
    let modified = try reader.time(content)
    // Reserved: a text and four numbers.
    _ = try reader.counted(content)
    _ = try reader.range(16)
    var attributes = try attributes(content, &reader)
    if attributes[KeyringFile.schemaName] == nil {
      attributes[KeyringFile.schemaName] = KeyringFile.schema(ofType: type)
    }
    try skipAccessList(content, &reader)
    return ForeignItem(
      label: label, attributes: attributes, secret: Secret(try content.part(secret)), created: created,
      modified: modified)
  }

  /// Skips the list of programs that may read the item. No program has used that list since 2010.
  private static func skipAccessList(
    _ content: borrowing SecureBytes, _ reader: inout SecretReader
  ) throws(ForeignFileError) {
    for _ in 0..<(try reader.number(content)) {
      _ = try reader.range(4)
      // A name, a path, and a reserved text and number.
      for _ in 0..<3 { _ = try reader.counted(content) }
      _ = try reader.range(4)
    }
  }
}
