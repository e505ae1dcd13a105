import LatchkeyGcrypt
import LatchkeySecretClient
import LatchkeySodium

/// A keyring of version 1, as oo7 and libsecret's file backend write it: a GVariant of (uayutua(a{say}ay)), low bytes first. Each
/// item is encrypted by itself with AES-128-CBC, and an HMAC-SHA256 follows it. One key from PBKDF2 serves the cipher and the HMAC.
/// The attributes of an item come before it as HMACs, and are inside it as text.
enum VariantKeyring {
  /// The version, behind the text with which all keyrings begin.
  static let headerSize = 18
  /// oo7 and libsecret choose 100,000 rounds. More than this limit only makes a person wait.
  private static let roundLimit = 1_000_000
  private static let contentTypeName = "xdg:content-type"

  static func read(
    _ bytes: borrowing SecureBytes, name: String, password: borrowing SecureBytes
  ) throws(ForeignFileError) -> ForeignCollection {
    guard bytes.count >= headerSize else { throw .damaged }
    let all = VariantContainer(headerSize..<bytes.count)
    let saltEnd = try all.offset(0, of: bytes)
    let salt = try all.part(4, to: saltEnd, endings: 1)
    let rounds = Int(try all.number(at: VariantContainer.aligned(saltEnd, to: 4), 4, of: bytes))
    let fixed = VariantContainer.aligned(saltEnd, to: 4) + 4
    // The items follow the time of the keyring's last change and the number of its changes.
    let start = VariantContainer.aligned(fixed, to: 8) + 8 + 4
    let sealed = try all.rest(from: start, endings: 1).elements(of: bytes, limit: KeyringFile.itemLimit)
    guard (1...roundLimit).contains(rounds), !salt.isEmpty else { throw .damaged }
    let key = try key(password, bytes, salt, rounds)
    var items: [ForeignItem] = []
    for range in sealed { items.append(try item(bytes, range, key)) }
    return ForeignCollection(name: name, label: name, items: items)
  }

  private static func key(
    _ password: borrowing SecureBytes, _ bytes: borrowing SecureBytes, _ salt: Range<Int>, _ rounds: Int
  ) throws(ForeignFileError) -> SecureBytes {
    do {
      var key = try SecureBytes(count: 16)
      try PasswordKey.derive(
        password.bytes, salt: bytes.bytes.extracting(salt), rounds: rounds, digest: .sha256, into: key.mutableBytes)
      return key
    } catch { throw .noMemory }
  }

  /// An item: its attributes in front, and the encrypted part.
  private static func item(
    _ bytes: borrowing SecureBytes, _ range: Range<Int>, _ key: borrowing SecureBytes
  ) throws(ForeignFileError) -> ForeignItem {
    let pair = VariantContainer(range)
    let blob = try pair.rest(from: try pair.offset(0, of: bytes), endings: 1).range
    // One block of padding at least, an IV and the HMAC.
    guard blob.count >= 16 + 16 + 32, blob.count.isMultiple(of: 16) else { throw .damaged }
    return try content(try decrypt(bytes, blob, key))
  }

  private static func decrypt(
    _ bytes: borrowing SecureBytes, _ blob: Range<Int>, _ key: borrowing SecureBytes
  ) throws(ForeignFileError) -> SecureBytes {
    let signed = blob.dropLast(32)
    do {
      var content = try SecureBytes(count: signed.count - 16)
      var code = try SecureBytes(count: 32)
      let file = bytes.bytes
      try Digest.sha256.authenticate(file.extracting(signed), key: key.bytes, into: code.mutableBytes)
      guard Sodium.equal(code.bytes, file.extracting(blob.suffix(32))) else { throw ForeignFileError.wrongPassword }
      let count = try SessionCipher(copying: key.bytes).decrypt(
        file.extracting(signed.dropLast(16)), iv: file.extracting(signed.suffix(16)), into: content.mutableBytes)
      return try content.prefix(count)
    } catch let error as ForeignFileError { throw error } catch GcryptError.undecryptable {
      throw .damaged
    } catch { throw .noMemory }
  }

  /// Reads the decrypted content: (a{ss}sttay).
  static func content(_ bytes: borrowing SecureBytes) throws(ForeignFileError) -> ForeignItem {
    let all = VariantContainer(0..<bytes.count)
    let attributesEnd = try all.offset(0, of: bytes)
    let labelEnd = try all.offset(1, of: bytes)
    let entries = try VariantContainer(try all.part(0, to: attributesEnd, endings: 2))
      .elements(of: bytes, limit: KeyringFile.attributeLimit)
    var attributes: [String: String] = [:]
    for entry in entries {
      let pair = VariantContainer(entry)
      let nameEnd = try pair.offset(0, of: bytes)
      let name = try VariantContainer.text(try pair.part(0, to: nameEnd, endings: 1), of: bytes)
      attributes[name] = try VariantContainer.text(try pair.rest(from: nameEnd, endings: 1).range, of: bytes)
    }
    let label = try VariantContainer.text(try all.part(attributesEnd, to: labelEnd, endings: 2), of: bytes)
    let times = VariantContainer.aligned(labelEnd, to: 8)
    let created = try all.number(at: times, 8, of: bytes)
    let modified = try all.number(at: times + 8, 8, of: bytes)
    let secret = try bytes.part(try all.rest(from: times + 16, endings: 2).range)
    // oo7 keeps the kind of data there.
    let contentType = attributes.removeValue(forKey: contentTypeName)
    return ForeignItem(
      label: label, attributes: attributes, secret: Secret(secret, contentType: contentType), created: created,
      modified: modified)
  }
}

/// The places of the parts of a GVariant container. At its end the container lists where its parts without a fixed size end.
struct VariantContainer {
  let range: Range<Int>

  init(_ range: Range<Int>) { self.range = range }

  /// The size of one entry of that list, in bytes.
  private var endingSize: Int {
    switch range.count {
    case 0: 0
    case ...0xff: 1
    case ...0xffff: 2
    default: 4
    }
  }

  /// The next offset that is a multiple of the alignment.
  static func aligned(_ offset: Int, to size: Int) -> Int { (offset + size - 1) / size * size }

  /// The end of the part that is number `index` in the list. The list is in reverse order.
  func offset(_ index: Int, of bytes: borrowing SecureBytes) throws(ForeignFileError) -> Int {
    let end = try number(at: range.count - (index + 1) * endingSize, endingSize, of: bytes)
    guard endingSize > 0, end <= range.count else { throw .damaged }
    return Int(end)
  }

  /// An unsigned number, low byte first.
  func number(at offset: Int, _ size: Int, of bytes: borrowing SecureBytes) throws(ForeignFileError) -> UInt64 {
    guard offset >= 0, size <= range.count, offset <= range.count - size else { throw .damaged }
    let start = range.lowerBound + offset
    return (0..<size).reversed().reduce(0) { $0 << 8 | UInt64(bytes.octet(start + $1)) }
  }

  /// A part. It must end before the list of `endings`.
  func part(_ start: Int, to end: Int, endings: Int) throws(ForeignFileError) -> Range<Int> {
    guard start >= 0, start <= end, end <= range.count - endings * endingSize else { throw .damaged }
    return (range.lowerBound + start)..<(range.lowerBound + end)
  }

  /// The last part, which ends where the list of `endings` begins.
  func rest(from offset: Int, endings: Int) throws(ForeignFileError) -> VariantContainer {
    VariantContainer(try part(offset, to: range.count - endings * endingSize, endings: endings))
  }

  /// The elements of an array, which differ in size and have no alignment.
  ///
  /// - Parameter limit: the most elements that are allowed. With more elements, none is read.
  func elements(of bytes: borrowing SecureBytes, limit: Int) throws(ForeignFileError) -> [Range<Int>] {
    if range.isEmpty { return [] }
    // The list of ends begins at the end of the last element.
    let listed = try offset(0, of: bytes)
    let size = range.count - listed
    guard size > 0, size.isMultiple(of: endingSize) else { throw .damaged }
    guard size / endingSize <= limit else { throw .tooLarge }
    var found: [Range<Int>] = []
    var start = 0
    for index in 0..<(size / endingSize) {
      let end = Int(try number(at: listed + index * endingSize, endingSize, of: bytes))
      guard end >= start, end <= listed else { throw .damaged }
      found.append((range.lowerBound + start)..<(range.lowerBound + end))
      start = end
    }
    return found
  }

  /// A string, which ends with a zero.
  static func text(_ range: Range<Int>, of bytes: borrowing SecureBytes) throws(ForeignFileError) -> String {
    guard let last = range.last, bytes.octet(last) == 0, let text = bytes.text(range.dropLast()) else { throw .damaged }
    return text
  }
}
