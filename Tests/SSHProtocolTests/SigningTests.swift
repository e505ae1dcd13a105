import LatchkeySodium
import Testing

@testable import LatchkeySSHProtocol

@Suite("Keys and signatures of ssh")
struct SigningTests {
  @Test("a new key can be read from its file, and its public key verifies its signatures")
  func newKey() throws {
    try Sodium.initialize()
    let key = try PrivateKey.generate()
    let isConsistent = key.isConsistent
    #expect(isConsistent)
    let file = try KeyFile.encode(key, comment: "anna@example.com")
    let contents = try KeyFile.decode(file.bytes)
    let (comment, publicKey) = (contents.comment, contents.key.publicKey)
    #expect(comment == "anna@example.com")
    let message: [UInt8] = [1, 2, 3]
    let other: [UInt8] = [1, 2, 4]
    let made = contents.key.sign(message.span.bytes, [])
    let signature = try #require(made)
    let fits = key.publicKey.isSignature(signature, of: message.span.bytes)
    let fitsOther = key.publicKey.isSignature(signature, of: other.span.bytes)
    let isSame = publicKey == key.publicKey
    #expect(fits && !fitsOther && isSame)
  }

  @Test("names match patterns as in ssh's configuration")
  func patterns() {
    for (pattern, name, fits) in [
      ("anna", "anna", true), ("anna", "ann", false), ("an*", "anna", true), ("*", "", true), ("?nn?", "anna", true),
      ("*a*b", "xaxxb", true), ("*a*b", "xaxxbc", false), ("", "a", false),
    ] {
      #expect(NamePattern(pattern).matches(name) == fits, "\(pattern) \(name)")
    }
  }
}
