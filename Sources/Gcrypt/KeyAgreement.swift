/// One side of a Diffie-Hellman agreement as the Secret Service's encrypted sessions use it
/// (`dh-ietf1024-sha256-aes128-cbc-pkcs7`): RFC 2409 group 2, an ephemeral key used once.
public struct KeyAgreement: ~Copyable {
  /// Bytes of a public key that is sent.
  public static let publicKeySize = ModularGroup.byteCount

  /// How often a key is drawn again before giving up. Each draw fails once in 128 at most, so the limit is only
  /// reached where the random number generator is broken.
  private static let attempts = 64

  private let privateKey: Integer

  /// The public key to send: exactly 128 bytes, big-endian, the first not zero.
  public let publicKey: [UInt8]

  /// A fresh ephemeral key, drawn again until the public key needs all 128 bytes.
  ///
  /// - Throws: `unusableLibrary`, `outOfSecureMemory`, `library`.
  public init() throws(GcryptError) {
    for _ in 0..<Self.attempts {
      let drawn = try KeyAgreement(privateKey: Self.drawPrivateKey())
      if drawn.publicKey[0] != 0 {
        self = drawn
        return
      }
    }
    throw .unusableLibrary
  }

  /// The key pair of a given private exponent, also where its public key has leading zeros.
  init(privateKey: consuming Integer) throws(GcryptError) {
    let number = try Integer(
      power: ModularGroup.generator(), exponent: privateKey, modulus: ModularGroup.prime(),
      bits: ModularGroup.bitCount)
    publicKey = try number.bigEndian(byteCount: Self.publicKeySize).withBytes { (bytes) throws(GcryptError) in
      Array(bytes)
    }
    self.privateKey = privateKey
  }

  /// Agrees on a session's key with the owner of `peerPublicKey`, and ends this key.
  ///
  /// For the side that speaks first, a client. A server calls `respond(to:)`, which also avoids the shared secrets
  /// that clients disagree about.
  ///
  /// - Parameter peerPublicKey: unsigned big-endian, 1 … 129 bytes, leading zeros allowed.
  /// - Throws: `badPublicKey` where it is 0, 1, p − 1 or larger, or of a wrong length; otherwise as `init`.
  public consuming func agree(peerPublicKey: UnsafeRawBufferPointer) throws(GcryptError) -> SessionCipher {
    let peer = try Self.readPublicKey(peerPublicKey)
    return try SessionCipher(key: SessionKey(deriving: sharedSecret(with: peer)))
  }

  /// The server's side in one step: a key used for nothing else, and the cipher agreed on with the owner of `peerPublicKey`.
  ///
  /// The key is drawn again until the shared secret needs all 128 bytes as well. Clients disagree whether its leading
  /// zeros belong to the input of HKDF (libgcrypt's do, GnuTLS's do not); without leading zeros nobody can. A peer
  /// cannot keep this going: every key that is accepted has an order of at least (p − 1) / 2, so each draw gives
  /// it a new secret at random.
  ///
  /// - Parameters:
  ///   - peerPublicKey: as for `agree(peerPublicKey:)`.
  ///   - prepared: a key that was drawn before, to save half of the time now. It is used up also by an error.
  /// - Returns: the public key to send, exactly 128 bytes, and the session's cipher.
  /// - Throws: as `agree(peerPublicKey:)`.
  public static func respond(
    to peerPublicKey: UnsafeRawBufferPointer, with prepared: consuming KeyAgreement? = nil
  ) throws(GcryptError) -> (publicKey: [UInt8], cipher: SessionCipher) {
    let peer = try readPublicKey(peerPublicKey)
    for _ in 0..<attempts {
      let own: KeyAgreement
      if let ready = prepared.take() { own = ready } else { own = try KeyAgreement() }
      let secret = try own.sharedSecret(with: peer)
      let full = try secret.withBytes { (secret) throws(GcryptError) in secret[0] != 0 }
      if full { return (own.publicKey, SessionCipher(key: try SessionKey(deriving: secret))) }
    }
    throw .unusableLibrary
  }

  /// The shared secret, 128 bytes with zeros on the left, in secure memory.
  func sharedSecret(with peer: borrowing Integer) throws(GcryptError) -> SecureMemory {
    try Integer(power: peer, exponent: privateKey, modulus: ModularGroup.prime(), bits: ModularGroup.bitCount)
      .bigEndian(byteCount: ModularGroup.byteCount)
  }

  private static func drawPrivateKey() throws(GcryptError) -> Integer {
    let limit = try ModularGroup.publicKeyLimit()
    for _ in 0..<attempts {
      let drawn = try Integer(randomBits: ModularGroup.exponentBits)
      if drawn.lies(from: 2, below: limit) { return drawn }
    }
    throw .unusableLibrary
  }

  /// A peer's public key, checked. 129 bytes are for those who send the sign byte of a signed number.
  static func readPublicKey(_ bytes: UnsafeRawBufferPointer) throws(GcryptError) -> Integer {
    guard (1...publicKeySize + 1).contains(bytes.count) else { throw .badPublicKey }
    let number = try Integer(bigEndian: bytes)
    guard number.lies(from: 2, below: try ModularGroup.publicKeyLimit()) else { throw .badPublicKey }
    return number
  }
}
