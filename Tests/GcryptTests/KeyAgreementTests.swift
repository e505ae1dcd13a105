import BigInt
import Glibc
import Testing

@testable import LatchkeyGcrypt

@Suite("Diffie-Hellman over RFC 2409 group 2")
struct KeyAgreementTests {
  // RFC 2409 section 6.2, written down here independently of the module's own copy.
  static let prime: BigUInt = {
    let digits = """
      FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD
      EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED
      EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF
      """
    return BigUInt(digits.filter { !$0.isNewline }, radix: 16) ?? 0
  }()

  /// A big-endian number in `count` bytes, with zeros on the left. Without `count`, it has as many bytes as it needs.
  static func bigEndian(_ number: BigUInt, count: Int = 0) -> [UInt8] {
    let digits = Array(number.serialize())
    return [UInt8](repeating: 0, count: max(0, count - digits.count)) + digits
  }

  static func number(_ bytes: [UInt8]) -> BigUInt { bytes.withUnsafeBytes { BigUInt($0) } }

  /// The test computes faster than the library's function, which takes at least 64 steps.
  static func power(_ base: BigUInt, _ exponent: BigUInt) -> BigUInt {
    var result = BigUInt(1)
    for bit in (0..<exponent.bitWidth).reversed() {
      result = result * result % prime
      if exponent[bitAt: bit] { result = result * base % prime }
    }
    return result
  }

  @Test("The key agreement agrees with secretstorage", arguments: KnownAnswer.all)
  func knownAnswer(_ answer: KnownAnswer) throws {
    let server = try KeyAgreement(privateKey: answer.serverPrivateKey)
    #expect(server.publicKey == answer.serverPublicKey)
    let cipher = try server.cipher(with: answer.clientPublicKey)
    #expect(try cipher.encrypt(KnownAnswer.plaintext, iv: KnownAnswer.iv).ciphertext == answer.ciphertext)
    #expect(try cipher.encrypt([], iv: KnownAnswer.iv).ciphertext == answer.emptyCiphertext)
    #expect(try cipher.decrypt(answer.ciphertext, iv: KnownAnswer.iv) == KnownAnswer.plaintext)
    #expect(try cipher.decrypt(answer.emptyCiphertext, iv: KnownAnswer.iv).isEmpty)
    let known = try SessionCipher(key: answer.sessionKey)
    #expect(try known.decrypt(answer.ciphertext, iv: KnownAnswer.iv) == KnownAnswer.plaintext)
  }

  /// KWallet reads a public key as a signed number.
  @Test("The key agreement makes no public key that begins with zeros or with 0xff")
  func publicKeys() throws {
    for _ in 0..<1000 {
      let first = try KeyAgreement().publicKey[0]
      #expect(first != 0 && first != 0xff)
    }
  }

  /// The client uses plain arithmetic. Half of the clients keep the leading zeros of the shared secret, and half strip them, as
  /// libsecret with GnuTLS does. Both kinds must be able to read the server's messages.
  /// The part `damage` sets LATCHKEY_EVERY_CASE.
  @Test("clients can read the server's messages, in many handshakes")
  func handshakes() throws {
    var generator = SystemRandomNumberGenerator()
    var (privateKey, publicKey) = (BigUInt(0), BigUInt(0))
    for round in 0..<(getenv("LATCHKEY_EVERY_CASE") == nil ? 60 : 300) {
      // Most exponents are short, because this arithmetic is slow without optimization and the server cannot notice. 2^x is still
      // larger than the prime. The server has a new key each time, so a client may come ten times.
      if round % 250 < 2 || round.isMultiple(of: 10) {
        privateKey =
          round.isMultiple(of: 250)
          ? BigUInt.randomInteger(withExactWidth: 1023, using: &generator)
          : BigUInt(Int.random(in: 1025..<8192, using: &generator))
        publicKey = Self.power(2, privateKey)
      }
      let (answer, server) = try KeyAgreement.respond(to: Self.bigEndian(publicKey))
      #expect(answer.count == 128)
      #expect(answer[0] != 0)
      let shared = Self.power(Self.number(answer), privateKey)
      let secret = round.isMultiple(of: 2) ? Self.bigEndian(shared, count: 128) : Self.bigEndian(shared)
      let client = try SessionCipher(deriving: secret)
      let message = Array("handshake \(round)".utf8)
      let sealed = try server.encrypt(message)
      #expect(try client.decrypt(sealed.ciphertext, iv: sealed.iv) == message)
    }
  }

  @Test("a client rejects a shared secret with leading zeros", arguments: KnownAnswer.all)
  func fullSecret(_ answer: KnownAnswer) throws {
    let client = try KeyAgreement(privateKey: answer.serverPrivateKey)
    let shared = Self.number(answer.clientPublicKey).power(
      Self.number(answer.serverPrivateKey), modulus: Self.prime)
    #expect((try client.agree(peerPublicKey: answer.clientPublicKey) == nil) == (Self.bigEndian(shared).count < 128))
  }

  @Test("both sides of this module agree")
  func ownClient() throws {
    let client = try KeyAgreement()
    let clientKey = client.publicKey
    #expect(clientKey.count == ModularGroup.secretService.byteCount)
    let (serverKey, server) = try KeyAgreement.respond(to: clientKey)
    let clientCipher = try #require(try client.agree(peerPublicKey: serverKey))
    let sealed = try clientCipher.encrypt([1, 2, 3])
    #expect(try server.decrypt(sealed.ciphertext, iv: sealed.iv) == [1, 2, 3])
  }

  @Test("a prepared key is sent once")
  func preparedKey() throws {
    let client = try KeyAgreement()
    let clientKey = client.publicKey
    // Now and then, a prepared key leads to a shared secret with a leading zero, and the server makes another key.
    for attempt in 1... {
      var prepared: KeyAgreement? = try KeyAgreement()
      let preparedKey = prepared?.publicKey
      let answer = try KeyAgreement.respond(to: clientKey.span.bytes, with: prepared.take())
      if answer.publicKey != preparedKey && attempt < 5 { continue }
      #expect(answer.publicKey == preparedKey)
      let sealed = try answer.cipher.encrypt([1, 2, 3])
      let cipher = try #require(try client.agree(peerPublicKey: answer.publicKey))
      #expect(try cipher.decrypt(sealed.ciphertext, iv: sealed.iv) == [1, 2, 3])
      return
    }
  }

  @Test("every key is new, and fills 128 bytes")
  func freshKeys() throws {
    var seen = Set<[UInt8]>()
    // If the module accepted every key, 2 of 600 would be shorter.
    for _ in 0..<600 {
      let key = try KeyAgreement().publicKey
      #expect(key.count == 128)
      #expect(key[0] != 0)
      seen.insert(key)
    }
    #expect(seen.count == 600)
  }

  /// A client's key is a number, so leading zeros make no difference.
  @Test("The key agreement reads short keys and leading zeros", arguments: [2, 3, 255, 256, 65_537, UInt64.max])
  func shortKeys(exponentOrKey: UInt64) throws {
    let serverExponent = BigUInt(exponentOrKey) + 1_000_003
    let clientKey = BigUInt(exponentOrKey)
    let shared = clientKey.power(serverExponent, modulus: Self.prime)
    let expected = try SessionCipher(deriving: Self.bigEndian(shared, count: 128))
    let shortest = Self.bigEndian(clientKey).count
    for length in Set([shortest, shortest + 1, 20, 127, 128, 129]) {
      let server = try KeyAgreement(privateKey: Self.bigEndian(serverExponent))
      let cipher = try server.cipher(with: Self.bigEndian(clientKey, count: length))
      let sealed = try cipher.encrypt([9])
      #expect(try expected.decrypt(sealed.ciphertext, iv: sealed.iv) == [9])
    }
  }

  @Test("The key agreement accepts the largest key, 128 and 129 bytes long")
  func largestKey() throws {
    let largest = Self.prime - 2
    for length in [128, 129] {
      let key = Self.bigEndian(largest, count: length)
      #expect(throws: Never.self) { try KeyAgreement.respond(to: key) }
    }
  }

  static let refused: [BigUInt] = [
    0, 1, prime - 1, prime, prime + 1, prime + 2, 2 * prime - 1, BigUInt(2).power(1024) - 1, BigUInt(2).power(1024),
    BigUInt(2).power(1032) - 1,
  ]

  @Test("The key agreement refuses keys that reveal the secret or are not in the group", arguments: refused)
  func refusedKeys(number: BigUInt) throws {
    for length in Set([0, 1, 64, 127, 128, 129]) {
      let key = Self.bigEndian(number, count: length)
      #expect(throws: GcryptError.badPublicKey) { try KeyAgreement.respond(to: key) }
      #expect(throws: GcryptError.badPublicKey) {
        let client = try KeyAgreement()
        return try client.agree(peerPublicKey: key)
      }
    }
  }

  @Test("The key agreement refuses keys of a wrong length", arguments: [0, 130, 131, 256, 4096])
  func refusedLengths(length: Int) {
    // The number itself is a valid key.
    let key = length == 0 ? [] : [UInt8](repeating: 0, count: length - 1) + [5]
    #expect(throws: GcryptError.badPublicKey) { try KeyAgreement.respond(to: key) }
  }
}
