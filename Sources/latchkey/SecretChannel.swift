import Gcrypt
import Sodium
import Systemd

/// How secrets travel between this program and the vault: encrypted, so that the bus and its buffers see none.
final class SecretChannel {
  private static let algorithm = "dh-ietf1024-sha256-aes128-cbc-pkcs7"

  let path: String
  private let cipher: SessionCipher

  init(_ connection: VaultConnection) throws {
    var agreement: KeyAgreement? = try KeyAgreement()
    let ours = agreement?.publicKey ?? []
    let (theirs, path) = try connection.call(
      VaultConnection.root, VaultConnection.service, "OpenSession"
    ) { (out: inout MessageWriter) throws(BusError) in
      try out.appendString(SecretChannel.algorithm)
      try out.appendVariant("ay") { (key: inout MessageWriter) throws(BusError) in try key.appendBytes(ours) }
    } read: { (answer: Message) throws(BusError) in
      let key = try answer.readVariant("ay") { (key: Message) throws(BusError) in try key.withBytes { Array($0) } }
      return (key, try answer.readObjectPath())
    }
    self.path = path
    let agreed = try theirs.withUnsafeBytes { theirs throws(GcryptError) in
      try agreement.take()?.agree(peerPublicKey: theirs)
    }
    guard let agreed else { throw BusError.failed("no key") }
    cipher = agreed
  }

  /// Writes a secret with all that belongs to it.
  func write(_ secret: Secret, to out: inout MessageWriter) throws(BusError) {
    var iv = [UInt8](repeating: 0, count: SessionCipher.blockSize)
    var sealed = [UInt8](repeating: 0, count: SessionCipher.ciphertextLength(plaintext: secret.count))
    do {
      try secret.withBytes { bytes in
        try bytes.withUnsafeBytes { plain in
          try iv.withUnsafeMutableBytes { iv in
            try sealed.withUnsafeMutableBytes { try cipher.encrypt(plain, iv: iv, into: $0) }
          }
        }
      }
    } catch { throw .failed("the secret could not be encrypted") }
    try out.open("r", "oayays")
    try out.appendObjectPath(path)
    try out.appendBytes(iv)
    try out.appendBytes(sealed)
    try out.appendString(secret.contentType)
    try out.close()
  }

  /// Reads a secret with all that belongs to it.
  func read(from message: Message) throws(BusError) -> Secret {
    try message.readStruct("oayays") { [cipher] (fields: Message) throws(BusError) in
      try fields.skip()
      let iv = try fields.withBytes { Array($0) }
      let sealed = try fields.withBytes { Array($0) }
      let type = try fields.readString()
      do {
        var plain = try SecureBytes(count: sealed.count)
        let count = try plain.withUnsafeMutableBytes { out in
          try sealed.withUnsafeBytes { sealed in
            try iv.withUnsafeBytes { iv in try cipher.decrypt(sealed, iv: iv, into: out) }
          }
        }
        return Secret(try plain.prefix(count), contentType: type)
      } catch { throw .failed("the secret could not be decrypted") }
    }
  }
}
