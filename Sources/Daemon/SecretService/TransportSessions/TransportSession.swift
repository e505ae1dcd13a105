import LatchkeyGcrypt
import LatchkeySodium
import LatchkeySystemd

/// The form in which secrets travel between one client and the service (specification 0.2, "Transfer of Secrets"). It belongs to
/// the client that opened it, and ends with that client.
final class TransportSession {
  /// The name of the encrypting algorithm.
  static let encrypted = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
  /// The name of the algorithm without encryption.
  static let plain = "plain"

  let path: String
  /// The unique bus name of the session's client.
  let owner: String
  /// The cipher; nil for `plain`.
  private let cipher: SessionCipher?

  init(path: String, owner: String, cipher: SessionCipher?) {
    self.path = path
    self.owner = owner
    self.cipher = cipher
  }

  /// Writes the structure Secret: session, parameters, value, content type.
  func write(
    _ secret: borrowing SecureBytes, contentType: String, to writer: inout MessageWriter
  ) throws(BusError) {
    writer.open("r", "oayays")
    writer.appendObjectPath(path)
    if let cipher {
      let sealed = try TransportSession.encrypt(secret, with: cipher)
      writer.appendBytes(sealed.iv)
      writer.appendBytes(sealed.ciphertext)
    } else {
      writer.appendBytes([UInt8]())
      writer.appendBytes(secret.bytes)
    }
    writer.appendString(contentType)
    writer.close()
  }

  private static func encrypt(
    _ secret: borrowing SecureBytes, with cipher: SessionCipher
  ) throws(BusError) -> (iv: [UInt8], ciphertext: [UInt8]) {
    do { return try cipher.encrypt(secret.bytes) } catch {
      throw .failed("the secret could not be encrypted for the session")
    }
  }

  /// Reads the fields after the session's path in a structure Secret.
  func read(from message: Message) throws(BusError) -> ReceivedSecret {
    let parameters = try message.readOctets()
    guard let cipher else {
      guard parameters.isEmpty else { throw .invalidArguments("a plain session has no parameters") }
      let value = try ReceivedSecret.secure {
        try message.readBytes { (bytes: RawSpan) throws(SodiumError) in
          ReceivedSecret.Box(try SecureBytes(copying: bytes))
        }
      }
      return ReceivedSecret(value: value, contentType: try message.readString())
    }
    guard parameters.count == SessionCipher.blockSize else {
      throw .invalidArguments("the parameters must be an IV of 16 bytes")
    }
    let box = try message.withBytes { (bytes: RawSpan) throws(BusError) in
      try TransportSession.decrypt(bytes, iv: parameters, with: cipher)
    }
    return ReceivedSecret(value: box, contentType: try message.readString())
  }

  private static func decrypt(
    _ bytes: RawSpan, iv: [UInt8], with cipher: SessionCipher
  ) throws(BusError) -> ReceivedSecret.Box {
    do {
      var plain = try SecureBytes(count: bytes.byteCount)
      let count = try cipher.decrypt(bytes, iv: iv.span.bytes, into: plain.mutableBytes)
      return ReceivedSecret.Box(try plain.prefix(count))
    } catch is GcryptError {
      throw .invalidArguments("the secret does not decrypt in this session")
    } catch {
      throw .limitsExceeded(.refusal(.noMemory))
    }
  }
}

/// A secret as a client sent it.
struct ReceivedSecret {
  /// The owner of the bytes. It is a class only because closures of the bus layer cannot pass on values that are not copyable.
  final class Box {
    let bytes: SecureBytes
    init(_ bytes: consuming SecureBytes) { self.bytes = bytes }
  }

  let value: Box
  let contentType: String

  static func secure(
    _ body: () throws -> Result<Box, SodiumError>
  ) throws(BusError) -> Box {
    do { return try body().get() } catch let error as BusError { throw error } catch {
      throw .limitsExceeded(.refusal(.noMemory))
    }
  }
}
