import BigInt
import LatchkeySodium
import Testing

@testable import LatchkeyGcrypt
@testable import LatchkeyPrompters

@Suite("sx-aes-1")
struct SecretExchangeTests {
  init() throws { try Sodium.initialize() }

  /// RFC 3526 section 2, written down here independently of the module's own copy.
  private static let prime: BigUInt = {
    let digits = """
      FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD
      EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED
      EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F
      83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08CA237327FFFFFFFFFFFFFFFF
      """
    return BigUInt(digits.filter { !$0.isNewline }, radix: 16) ?? 0
  }()

  /// As in KeyAgreementTests.
  private static func power(_ base: BigUInt, _ exponent: BigUInt) -> BigUInt {
    var result = BigUInt(1)
    for bit in (0..<exponent.bitWidth).reversed() {
      result = result * result % prime
      if exponent[bitAt: bit] { result = result * base % prime }
    }
    return result
  }

  /// The prompter's side, in plain arithmetic.
  private struct Prompter {
    /// The exponent is short, because this arithmetic is slow.
    private let exponent = BigUInt(0x1235)
    private let iv = [UInt8](0..<16)

    var publicKey: String { Base64.encode(Array(power(2, exponent).serialize())) }

    func seal(_ secret: String, for text: String) throws -> (iv: String, secret: String) {
      let line = text.split(separator: "\n").first { $0.hasPrefix("public=") }
      let key = try #require(line.flatMap { Base64.decode($0.dropFirst(7)) })
      let shared = power(key.withUnsafeBytes { BigUInt($0) }, exponent).serialize()
      let memory = try SecureMemory(copying: Array(shared).span.bytes)
      let cipher = SessionCipher(key: try SessionKey(deriving: memory))
      let plaintext = Array(secret.utf8)
      let sealed = try cipher.encrypt(plaintext.span.bytes, underIV: iv)
      return (Base64.encode(iv), Base64.encode(sealed))
    }
  }

  private func text(_ bytes: borrowing SecureBytes) -> String {
    bytes.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  @Test(
    "what the prompter seals is what we read", arguments: ["korrekt Pferd ü", "", String(repeating: "x", count: 511)])
  func agreement(_ secret: String) throws {
    let prompter = Prompter()
    let exchange = try SecretExchange(answering: "[sx-aes-1]\npublic=\(prompter.publicKey)\n")
    #expect(exchange.text.hasPrefix("[sx-aes-1]\npublic="))
    let sealed = try prompter.seal(secret, for: exchange.text)
    let answer = try exchange.secret(in: "[sx-aes-1]\npublic=AA==\nsecret=\(sealed.secret)\niv=\(sealed.iv)\n")
    #expect(text(answer) == secret)
    // The same key file in the form of another program, with a comment, spaces, another group and other line ends.
    let other = "# x\r\n[other]\nsecret=AA==\n[sx-aes-1]\r\n iv = \(sealed.iv) \r\nsecret\t=\(sealed.secret)\r\n"
    #expect(text(try exchange.secret(in: other)) == secret)
  }

  @Test("each exchange has a key of its own")
  func freshKeys() throws {
    let text = "[sx-aes-1]\npublic=\(Prompter().publicKey)\n"
    #expect(try SecretExchange(answering: text).text != SecretExchange(answering: text).text)
  }

  @Test(
    "an impossible message is refused",
    arguments: [
      "", "[sx-aes-1]", "public=BB==", "[sx-aes-1]\npublic=", "[sx-aes-1]\npublic=AQ==", "[sx-aes-1]\npublic=!",
    ])
  func malformedKeys(_ text: String) {
    #expect(throws: (any Error).self) { try SecretExchange(answering: text) }
  }

  @Test("a message that does not open is refused")
  func malformedSecrets() throws {
    let prompter = Prompter()
    let exchange = try SecretExchange(answering: "[sx-aes-1]\npublic=\(prompter.publicKey)\n")
    let sealed = try prompter.seal("secret", for: exchange.text)
    let long = Base64.encode([UInt8](repeating: 0, count: 4112))
    for (iv, secret) in [
      ("", sealed.secret), ("AAAA", sealed.secret), (sealed.iv, ""), (sealed.iv, "AAAA"), (sealed.iv, long),
    ] {
      #expect(throws: (any Error).self) { _ = try exchange.secret(in: "[sx-aes-1]\niv=\(iv)\nsecret=\(secret)\n") }
    }
  }
}
