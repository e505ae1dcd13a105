@testable import LatchkeyGcrypt

/// Test data as hexadecimal digits.
func bytes(hex: String) -> [UInt8] {
  let digits = hex.compactMap { $0.hexDigitValue.map(UInt8.init) }
  precondition(digits.count.isMultiple(of: 2))
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

extension SecureMemory {
  init(copying bytes: [UInt8]) throws(GcryptError) {
    self = try bytes.span.bytes.withUnsafeBytes { (bytes) throws(GcryptError) in try SecureMemory(copying: bytes) }
  }
}

extension KeyAgreement {
  /// The key pair of a known private exponent.
  init(privateKey bytes: [UInt8]) throws(GcryptError) {
    let number = try SecureMemory(copying: bytes).withBytes { (bytes) throws(GcryptError) in
      try Integer(bigEndian: bytes)
    }
    try self.init(privateKey: number)
  }

  consuming func agree(peerPublicKey: [UInt8]) throws(GcryptError) -> SessionCipher? {
    let agreement = self
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: peerPublicKey.count, alignment: 1)
    defer { buffer.deallocate() }
    buffer.copyBytes(from: peerPublicKey)
    return try agreement.agree(peerPublicKey: UnsafeRawBufferPointer(buffer))
  }

  /// The cipher from both keys, even if the shared secret has leading zeros.
  func cipher(with peerPublicKey: [UInt8]) throws(GcryptError) -> SessionCipher {
    let peer = try peerPublicKey.span.bytes.withUnsafeBytes { (bytes) throws(GcryptError) in
      try Self.readPublicKey(bytes, .secretService)
    }
    return try SessionCipher(key: SessionKey(deriving: sharedSecret(with: peer)))
  }

  static func respond(to peer: [UInt8]) throws(GcryptError) -> (publicKey: [UInt8], cipher: SessionCipher) {
    try peer.span.bytes.withUnsafeBytes { (bytes) throws(GcryptError) in try respond(to: bytes) }
  }
}

extension SessionCipher {
  convenience init(key: [UInt8]) throws(GcryptError) {
    try self.init(
      key: key.span.bytes.withUnsafeBytes { (key) throws(GcryptError) in try SessionKey(copying: key) })
  }

  convenience init(deriving secret: [UInt8]) throws(GcryptError) {
    try self.init(key: SessionKey(deriving: SecureMemory(copying: secret)))
  }

  /// Encrypts with the given IV or a random IV.
  func encrypt(_ plaintext: [UInt8], iv given: [UInt8]? = nil) throws -> (iv: [UInt8], ciphertext: [UInt8]) {
    var iv = given ?? [UInt8](repeating: 0, count: 16)
    var ciphertext = [UInt8](repeating: 0, count: Self.ciphertextLength(plaintext: plaintext.count))
    try plaintext.withUnsafeBytes { plaintext in
      try iv.withUnsafeMutableBytes { iv in
        try ciphertext.withUnsafeMutableBytes { ciphertext in
          if given == nil {
            try encrypt(plaintext, iv: iv, into: ciphertext)
          } else {
            try encrypt(plaintext, underIV: UnsafeRawBufferPointer(iv), into: ciphertext)
          }
        }
      }
    }
    return (iv, ciphertext)
  }

  func decrypt(_ ciphertext: [UInt8], iv: [UInt8]) throws -> [UInt8] {
    var plaintext = [UInt8](repeating: 0xEE, count: ciphertext.count)
    let length = try plaintext.withUnsafeMutableBytes { plaintext in
      do {
        return try ciphertext.withUnsafeBytes { ciphertext in
          try iv.withUnsafeBytes { iv in try decrypt(ciphertext, iv: iv, into: plaintext) }
        }
      } catch GcryptError.undecryptable {
        // The call erases a refused plaintext. If the length is refused, the call writes nothing.
        precondition(plaintext.allSatisfy { $0 == 0 } || plaintext.allSatisfy { $0 == 0xEE })
        throw GcryptError.undecryptable
      }
    }
    precondition(plaintext[length...].allSatisfy { $0 == 0 })
    return Array(plaintext[..<length])
  }
}
