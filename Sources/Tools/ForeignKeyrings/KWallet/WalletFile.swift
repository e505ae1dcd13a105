import LatchkeyGcrypt
import LatchkeySecretClient
import LatchkeySodium

/// A wallet of KWallet's, NAME.kwl: names of folders and entries as MD5 in the clear, then everything under Blowfish. Since KDE
/// Frameworks 5 the key is PBKDF2 of the password and the salt in NAME.salt. KDE 4 derived it with SHA-1 and no salt.
public enum WalletFile {
  private static let magic: [UInt8] = Array("KWALLET\n\r\0\r\n".utf8)
  /// Bytes of NAME.salt.
  static let saltSize = 56
  private static let rounds = 50_000
  private static let checksumSize = 20
  /// A block of random bytes, and the size of the content.
  private static let headSize = 8 + 4

  /// How a wallet is encrypted.
  public enum Form: Sendable {
    /// The key comes from a password and a salt.
    case salted
    /// The key comes from a password alone, as in KDE 4.
    case unsalted
    /// The file is encrypted to a key of GPG.
    case gpg
  }

  /// The form of a file's bytes.
  public static func form(of bytes: borrowing SecureBytes) throws(ForeignFileError) -> Form {
    guard bytes.count >= magic.count + 4, bytes.bytes.starts(with: magic) else {
      throw .unknownFormat
    }
    // The first number of the version, which is 0, the cipher, and the hash.
    switch (bytes.octet(12), bytes.octet(14), bytes.octet(15)) {
    case (0, 3, 2): return .salted
    case (0, 0, 0): return .unsalted
    case (0, 2, _): return .gpg
    default: throw .unknownWallet
    }
  }

  /// Reads the whole file.
  ///
  /// - Parameters:
  ///   - bytes: the file.
  ///   - name: the wallet's name.
  ///   - salt: the salt file beside the wallet; empty if there is none.
  ///   - served: KWallet's notes about the items that programs stored by the Secret Service, by folder, slash and entry.
  public static func read(
    _ bytes: borrowing SecureBytes, name: String, salt: borrowing SecureBytes, password: borrowing SecureBytes,
    served: [String: ServedEntry] = [:]
  ) throws(ForeignFileError) -> ForeignCollection {
    let form = try form(of: bytes)
    if form == .gpg { throw .forGPG }
    var reader = SecretReader((magic.count + 4)..<bytes.count)
    for _ in 0..<(try reader.number(bytes)) {
      // A folder's name, and the names of its entries, as MD5.
      _ = try reader.range(16)
      let count = Int(try reader.number(bytes))
      guard count <= KeyringFile.itemLimit else { throw .tooLarge }
      _ = try reader.range(16 * count)
    }
    let sealed = try reader.range(reader.remaining)
    guard sealed.count.isMultiple(of: 8), sealed.count >= headSize + checksumSize else { throw .damaged }
    guard form == .unsalted || salt.count == saltSize else { throw .noSalt }
    let content = try decrypt(bytes, sealed, form, salt: salt, password: password)
    let items = try WalletContent.items(content, in: try place(content, form), served: served)
    return ForeignCollection(name: name, label: name, items: items)
  }

  private static func decrypt(
    _ bytes: borrowing SecureBytes, _ sealed: Range<Int>, _ form: Form, salt: borrowing SecureBytes,
    password: borrowing SecureBytes
  ) throws(ForeignFileError) -> SecureBytes {
    do {
      let key = form == .salted ? try saltedKey(password, salt) : try unsaltedKey(password)
      var content = try SecureBytes(count: sealed.count)
      let cipher = form == .salted ? UnpaddedCipher.blowfish : .swappedBlowfish
      try cipher.decrypt(bytes.bytes.extracting(sealed), key: key.bytes, into: content.mutableBytes)
      return content
    } catch { throw .noMemory }
  }

  private static func saltedKey(
    _ password: borrowing SecureBytes, _ salt: borrowing SecureBytes
  ) throws -> SecureBytes {
    var key = try SecureBytes(count: 56)
    try PasswordKey.derive(
      password.bytes, salt: salt.bytes, rounds: rounds, digest: .sha512, into: key.mutableBytes)
    return key
  }

  /// The key of KDE 4: SHA-1 of each 16 bytes of the password, repeated 2,000 times. The digests are cut so that the key has 56
  /// bytes at most.
  private static func unsaltedKey(_ password: borrowing SecureBytes) throws -> SecureBytes {
    let sizes =
      switch password.count {
      case ...16: [20]
      case ...32: [20, 20]
      case ...48: [20, 20, 16]
      default: [14, 14, 14, 14]
      }
    var key = try SecureBytes(count: sizes.reduce(0, +))
    var digest = try SecureBytes(count: Digest.sha1.byteCount)
    var offset = 0
    for (index, size) in sizes.enumerated() {
      let end = index == 3 ? password.count : min(16 * index + 16, password.count)
      try Digest.sha1.hash(
        password.bytes.extracting((16 * index)..<end), rounds: 2000, into: digest.mutableBytes)
      key.write(0..<size, of: digest, at: offset)
      offset += size
    }
    return key
  }

  /// The place of the content, if the key was right.
  private static func place(
    _ content: borrowing SecureBytes, _ form: Form
  ) throws(ForeignFileError) -> Range<Int> {
    var reader = SecretReader(8..<content.count)
    let size = Int(try reader.number(content))
    // With a wrong password the size can be any number.
    guard size <= content.count - headSize - checksumSize else { throw .wrongPassword }
    let range = headSize..<(headSize + size)
    let sum = try checksum(content, range, form)
    guard Sodium.equal(sum.span.bytes, content.bytes.extracting(last: checksumSize)) else { throw .wrongPassword }
    return range
  }

  private static func checksum(
    _ content: borrowing SecureBytes, _ range: Range<Int>, _ form: Form
  ) throws(ForeignFileError) -> [UInt8] {
    if form == .salted { return WalletChecksum.of(content.bytes.extracting(range)) }
    var sum = [UInt8](repeating: 0, count: checksumSize)
    do {
      var room = sum.mutableSpan
      try Digest.sha1.hash(content.bytes.extracting(range), into: room.mutableBytes)
    } catch { throw .noMemory }
    return sum
  }
}
