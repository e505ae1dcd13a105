@testable import LatchkeyGcrypt

/// Test data as hexadecimal digits.
func bytes(hex: String) -> [UInt8] {
  let digits = hex.compactMap { $0.hexDigitValue.map(UInt8.init) }
  precondition(digits.count.isMultiple(of: 2))
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

extension SecureMemory {
  init(copying bytes: [UInt8]) throws(GcryptError) {
    self = try SecureMemory(copying: bytes.span.bytes)
  }
}

extension KeyAgreement {
  /// The key pair of a known private exponent.
  init(privateKey bytes: [UInt8]) throws(GcryptError) {
    let number = try SecureMemory(copying: bytes).withBytes { (bytes) throws(GcryptError) in
      try Integer(bigEndian: bytes.bytes)
    }
    try self.init(privateKey: number)
  }

  consuming func agree(peerPublicKey: [UInt8]) throws(GcryptError) -> SessionCipher? {
    try agree(peerPublicKey: peerPublicKey.span.bytes)
  }

  /// The cipher from both keys, even if the shared secret has leading zeros.
  func cipher(with peerPublicKey: [UInt8]) throws(GcryptError) -> SessionCipher {
    let peer = try Self.readPublicKey(peerPublicKey.span.bytes, .secretService)
    return try SessionCipher(key: SessionKey(deriving: sharedSecret(with: peer)))
  }

  static func respond(to peer: [UInt8]) throws(GcryptError) -> (publicKey: [UInt8], cipher: SessionCipher) {
    try respond(to: peer.span.bytes)
  }
}

extension SessionCipher {
  convenience init(key: [UInt8]) throws(GcryptError) {
    try self.init(copying: key.span.bytes)
  }

  convenience init(deriving secret: [UInt8]) throws(GcryptError) {
    try self.init(key: SessionKey(deriving: SecureMemory(copying: secret)))
  }

  /// Encrypts with the given IV or a random IV.
  func encrypt(_ plaintext: [UInt8], iv given: [UInt8]? = nil) throws -> (iv: [UInt8], ciphertext: [UInt8]) {
    guard let given else { return try encrypt(plaintext.span.bytes) }
    return (given, try encrypt(plaintext.span.bytes, underIV: given))
  }

  func decrypt(_ ciphertext: [UInt8], iv: [UInt8]) throws -> [UInt8] {
    var plaintext = [UInt8](repeating: 0xEE, count: ciphertext.count)
    let length: Int
    do {
      var room = plaintext.mutableSpan
      length = try decrypt(ciphertext.span.bytes, iv: iv.span.bytes, into: room.mutableBytes)
    } catch GcryptError.undecryptable {
      // The call erases a refused plaintext. If the length is refused, the call writes nothing.
      precondition(plaintext.allSatisfy { $0 == 0 } || plaintext.allSatisfy { $0 == 0xEE })
      throw GcryptError.undecryptable
    }
    precondition(plaintext[length...].allSatisfy { $0 == 0 })
    return Array(plaintext[..<length])
  }
}
