import LatchkeyGcrypt
import LatchkeySodium
import LatchkeySystemd

/// Carries secrets between this program and the vault. It encrypts them, so that the bus and its buffers never have a secret.
///
/// This is the client's end of a session. The vault's end is `TransportSession`, which answers in the event loop and also allows
/// sessions without encryption.
public final class SecretChannel {
  private static let algorithm = "dh-ietf1024-sha256-aes128-cbc-pkcs7"

  /// The session's object path, which calls name.
  public let path: String
  private let cipher: SessionCipher

  /// The number of tries to agree on a key. One try in 256 fails, so all tries fail only if the provider's keys are not random.
  private static let attempts = 16

  /// Agrees on a key with the vault, or with another provider.
  public init(_ connection: ServiceConnection) throws(BusError) {
    for _ in 0..<Self.attempts {
      let opened = try Self.open(connection)
      if let agreed = opened.cipher {
        (path, cipher) = (opened.path, agreed)
        return
      }
      try connection.call(opened.path, "org.freedesktop.Secret.Session", "Close") { _ in
      } read: { _ in
      }
    }
    throw .failed("no session key was agreed on")
  }

  /// Opens a session.
  ///
  /// - Returns: the session's object path, and its cipher. The cipher is nil if the two sides may disagree about the key.
  private static func open(_ connection: ServiceConnection) throws(BusError) -> (path: String, cipher: SessionCipher?) {
    var agreement: KeyAgreement?
    do { agreement = try KeyAgreement() } catch { throw .failed("no session key could be made") }
    let ours = agreement?.publicKey ?? []
    let (theirs, path) = try connection.call(
      ServiceConnection.root, ServiceConnection.service, "OpenSession"
    ) { out in
      out.appendString(SecretChannel.algorithm)
      out.appendVariant("ay") { $0.appendBytes(ours) }
    } read: { (answer: Message) throws(BusError) in
      let key = try answer.readVariant("ay") { (key: Message) throws(BusError) in try key.readOctets() }
      return (key, try answer.readObjectPath())
    }
    do {
      return (path, try agreement.take()?.agree(peerPublicKey: theirs.span.bytes))
    } catch { throw .failed("no session key was agreed on") }
  }

  /// Writes a secret in the interface's structure.
  public func write(_ secret: Secret, to out: inout MessageWriter) throws(BusError) {
    let (iv, sealed): ([UInt8], [UInt8])
    do { (iv, sealed) = try secret.withBytes { try cipher.encrypt($0) } } catch {
      throw .failed("the secret could not be encrypted")
    }
    out.open("r", "oayays")
    out.appendObjectPath(path)
    out.appendBytes(iv)
    out.appendBytes(sealed)
    out.appendString(secret.contentType)
    out.close()
  }

  /// Reads a secret from the interface's structure.
  public func read(from message: Message) throws(BusError) -> Secret {
    try message.readStruct("oayays") { [cipher] (fields: Message) throws(BusError) in
      try fields.skip()
      let iv = try fields.readOctets()
      let sealed = try fields.readOctets()
      let type = try fields.readString()
      do {
        var plain = try SecureBytes(count: sealed.count)
        let count = try cipher.decrypt(sealed.span.bytes, iv: iv.span.bytes, into: plain.mutableBytes)
        return Secret(try plain.prefix(count), contentType: type)
      } catch { throw .failed("the secret could not be decrypted") }
    }
  }
}
