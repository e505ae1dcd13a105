import LatchkeySodium

/// A file of one private key, in OpenSSH's format and without a passphrase, as `ssh-keygen` writes and reads it.
public enum KeyFile {
  /// The reason why a file gives no key.
  public enum Failure: Error {
    /// The file has a passphrase.
    case encrypted
    /// The file is not a key file, or this program cannot sign with its kind of key.
    case malformed
  }

  /// The contents of a file.
  public struct Contents: ~Copyable {
    /// The key.
    public let key: PrivateKey
    /// The comment, which is the owner's name for the key.
    public let comment: String

    /// The key alone.
    public consuming func takeKey() -> PrivateKey { key }
  }

  private static let header = Array("-----BEGIN OPENSSH PRIVATE KEY-----".utf8)
  private static let footer = Array("-----END OPENSSH PRIVATE KEY-----".utf8)
  private static let magic = Array("openssh-key-v1\0".utf8)
  private static let lineLength = 70
  /// The fields fill whole blocks of this size, even without encryption.
  private static let blockSize = 8

  /// Writes the file of a key.
  public static func encode(_ key: borrowing PrivateKey, comment: String) throws(SodiumError) -> SecureBytes {
    var front = SSHWriter()
    for byte in magic { front.byte(byte) }
    for text in ["none", "none", ""] { front.text(text) }
    front.number(1)
    front.string(key.publicKey.blob)
    var note = SSHWriter()
    note.text(comment)
    let size = 8 + key.fields.count + note.bytes.count
    let padded = (size + blockSize - 1) / blockSize * blockSize
    front.number(UInt32(padded))
    // Two equal numbers show a reader that it has decrypted the rest correctly.
    let check = Sodium.randomBytes(4)
    let begin = front.bytes.count
    var whole = try SecureBytes(count: begin + padded)
    whole.write((front.bytes + check + check).span.bytes, at: 0)
    whole.write(key.fields.bytes, at: begin + 8)
    whole.write(
      (note.bytes + (0..<padded - size).map { UInt8($0 + 1) }).span.bytes, at: begin + size - note.bytes.count)
    return try lines(try Base64.encode(secret: whole.bytes))
  }

  private static func lines(_ text: consuming SecureBytes) throws(SodiumError) -> SecureBytes {
    let count = (text.count + lineLength - 1) / lineLength
    var file = try SecureBytes(count: header.count + 1 + text.count + count + footer.count + 1)
    file.write((header + [0x0a]).span.bytes, at: 0)
    var place = header.count + 1
    for line in 0..<count {
      let range = line * lineLength..<min((line + 1) * lineLength, text.count)
      file.write(range, of: text, at: place)
      file.write(([0x0a] as [UInt8]).span.bytes, at: place + range.count)
      place += range.count + 1
    }
    file.write((footer + [0x0a]).span.bytes, at: place)
    return file
  }

  /// Reads a file.
  public static func decode(_ file: RawSpan) throws(Failure) -> Contents {
    guard let bytes = text(of: file) else { throw .malformed }
    var reader = SSHReader(0..<bytes.count)
    do {
      guard bytes.bytes.octets(try reader.take(magic.count)) == magic else { throw Failure.malformed }
      let isPlain = try reader.text(bytes.bytes) == "none"
      guard try reader.text(bytes.bytes) == "none", isPlain else { throw Failure.encrypted }
      _ = try reader.string(bytes.bytes)
      guard try reader.number(bytes.bytes) == 1 else { throw Failure.malformed }
      _ = try reader.string(bytes.bytes)
      var fields = try reader.fields(bytes.bytes)
      guard try fields.number(bytes.bytes) == fields.number(bytes.bytes) else { throw Failure.malformed }
      let key = try PrivateKey(bytes.bytes, &fields)
      return Contents(key: key, comment: try fields.text(bytes.bytes))
    } catch let failure as Failure { throw failure } catch { throw .malformed }
  }

  /// The bytes between the file's first and last line.
  private static func text(of file: RawSpan) -> SecureBytes? {
    guard file.starts(with: header),
      let end = file.firstIndex(of: UInt8(ascii: "-"), in: header.count..<file.byteCount),
      var writer = try? SecureWriter(capacity: end - header.count)
    else { return nil }
    for place in header.count..<end where file[place] > 0x20 { writer.append(file[place]) }
    guard let packed = try? writer.finish(), let bytes = try? Base64.decode(secret: packed.bytes) else {
      return nil
    }
    return bytes
  }
}
