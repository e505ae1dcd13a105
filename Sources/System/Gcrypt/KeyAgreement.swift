/// One side of a Diffie-Hellman agreement for the Secret Service's encrypted sessions and the system prompter. It has an ephemeral
/// key, which is used once, and gives a cipher with the key that HKDF-SHA256 derives from the shared secret.
public struct KeyAgreement: ~Copyable {
  /// The most tries to make a key. At most one try in 128 fails, so only a broken random number generator reaches the limit.
  private static let attempts = 64

  private let privateKey: Integer
  private let group: ModularGroup

  /// The public key to send, big-endian. It has as many bytes as the group's prime, and its first byte is neither 0 nor 0xff.
  public let publicKey: [UInt8]

  /// Makes a fresh ephemeral key. It tries again until the public key needs all bytes, also as a signed number. kwalletd5 takes a
  /// first byte of 0xff for a sign, and would compute another session key.
  ///
  /// - Throws: `unusableLibrary`, `outOfSecureMemory`, `library`.
  public init(group: ModularGroup = .secretService) throws(GcryptError) {
    for _ in 0..<Self.attempts {
      let drawn = try KeyAgreement(privateKey: Self.drawPrivateKey(group), group: group)
      if drawn.publicKey[0] != 0, drawn.publicKey[0] != 0xff {
        self = drawn
        return
      }
    }
    throw .unusableLibrary
  }

  /// The key pair of a given private exponent, even if its public key has leading zeros.
  init(privateKey: consuming Integer, group: ModularGroup = .secretService) throws(GcryptError) {
    let number = try Integer(
      power: group.generator(), exponent: privateKey, modulus: group.prime(), bits: group.bitCount)
    publicKey = try number.bigEndian(byteCount: group.byteCount).withBytes { (bytes) throws(GcryptError) in
      Array(bytes)
    }
    self.privateKey = privateKey
    self.group = group
  }

  /// Agrees on a session's key with the owner of `peerPublicKey`, and ends this key.
  ///
  /// For the side that speaks first, a client. A server calls `respond(to:)`.
  ///
  /// - Parameter peerPublicKey: unsigned big-endian, from one byte to one more than the prime has, leading zeros
  ///   allowed.
  /// - Returns: nil if the shared secret has leading zeros, once in 256. Servers disagree whether these zeros belong to the
  ///   input of HKDF (kwalletd strips them). So the client agrees once more, with a new key.
  /// - Throws: `badPublicKey` if the peer's key is 0, 1, p − 1 or larger, or of a wrong length; otherwise as `init`.
  public consuming func agree(peerPublicKey: RawSpan) throws(GcryptError) -> SessionCipher? {
    let secret = try sharedSecret(with: try Self.readPublicKey(peerPublicKey, group))
    return try Self.isFull(secret) ? SessionCipher(key: SessionKey(deriving: secret)) : nil
  }

  /// The server's side in one step: a key that is used for nothing else, and the cipher on which both sides agree.
  ///
  /// It makes new keys until the shared secret needs all bytes as well. Clients disagree whether leading zeros of the secret belong
  /// to the input of HKDF (yes with libgcrypt, no with GnuTLS). Without leading zeros, all agree. A peer cannot prolong this loop,
  /// because every accepted key has an order of at least (p − 1) / 2. So each new key gives a new random secret.
  ///
  /// - Parameters:
  ///   - peerPublicKey: as for `agree(peerPublicKey:)`.
  ///   - prepared: a key of the same group that was drawn before, to save half of the time now. An error uses it up too.
  /// - Returns: the public key to send, which is as long as the prime, and the session's cipher.
  /// - Throws: as `agree(peerPublicKey:)`.
  public static func respond(
    to peerPublicKey: RawSpan, with prepared: consuming KeyAgreement? = nil,
    group: ModularGroup = .secretService
  ) throws(GcryptError) -> (publicKey: [UInt8], cipher: SessionCipher) {
    let peer = try readPublicKey(peerPublicKey, group)
    for _ in 0..<attempts {
      let own: KeyAgreement
      if let ready = prepared.take() { own = ready } else { own = try KeyAgreement(group: group) }
      let secret = try own.sharedSecret(with: peer)
      if try isFull(secret) { return (own.publicKey, SessionCipher(key: try SessionKey(deriving: secret))) }
    }
    throw .unusableLibrary
  }

  /// The shared secret in secure memory, filled with zeros on the left to the length of the prime.
  func sharedSecret(with peer: borrowing Integer) throws(GcryptError) -> SecureMemory {
    try Integer(power: peer, exponent: privateKey, modulus: group.prime(), bits: group.bitCount)
      .bigEndian(byteCount: group.byteCount)
  }

  /// Whether a shared secret needs all bytes.
  private static func isFull(_ secret: borrowing SecureMemory) throws(GcryptError) -> Bool {
    try secret.withBytes { (secret) throws(GcryptError) in secret[0] != 0 }
  }

  private static func drawPrivateKey(_ group: ModularGroup) throws(GcryptError) -> Integer {
    let limit = try group.publicKeyLimit()
    for _ in 0..<attempts {
      let drawn = try Integer(randomBits: ModularGroup.exponentBits)
      if drawn.lies(from: 2, below: limit) { return drawn }
    }
    throw .unusableLibrary
  }

  /// A peer's public key, checked. It may have one byte more, because some peers send the sign byte of a signed number.
  static func readPublicKey(_ bytes: RawSpan, _ group: ModularGroup) throws(GcryptError) -> Integer {
    guard (1...group.byteCount + 1).contains(bytes.byteCount) else { throw .badPublicKey }
    let number = try Integer(bigEndian: bytes)
    guard number.lies(from: 2, below: try group.publicKeyLimit()) else { throw .badPublicKey }
    return number
  }
}
