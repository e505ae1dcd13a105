import LatchkeySodium
import Testing

@Suite("Sealed boxes")
struct SealedBoxTests {
  init() throws { try Sodium.initialize() }

  // Result of OpenSSL's X25519.
  @Test("The public key is X25519's")
  func publicKey() throws {
    let secret = try key(Array(0...31))
    #expect(
      SealedBox.publicKey(of: secret)
        == [UInt8](hex: "8f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e2138285f"))
  }

  @Test("A sealed value of any size opens only for its owner", arguments: [0, 1, 32, 5000])
  func roundTrip(size: Int) throws {
    let plaintext = Sodium.randomBytes(size)
    let secret = try Key.random()
    let sealed = try SealedBox.seal(plaintext.span.bytes, to: SealedBox.publicKey(of: secret))
    #expect(sealed.count == size + SealedBox.overhead)
    #expect(octets(try SealedBox.open(sealed.span.bytes, secret: secret)) == plaintext)
    let other = try Key.random()
    #expect(throws: SodiumError.decryptionFailed) { _ = try SealedBox.open(sealed.span.bytes, secret: other) }
  }

  @Test("A box with any bit flipped, or without its last byte, does not open")
  func damage() throws {
    let secret = try Key.random()
    let sealed = try SealedBox.seal([UInt8](1...32).span.bytes, to: SealedBox.publicKey(of: secret))
    // The exchange ignores the top bit of an X25519 public key, but the nonce, which is a hash of the key, depends on that bit.
    for bit in 0..<(sealed.count * 8) {
      let damaged = sealed.flipped(bit)
      #expect(throws: SodiumError.decryptionFailed) { _ = try SealedBox.open(damaged.span.bytes, secret: secret) }
    }
    for count in 0..<sealed.count {
      let cut = Array(sealed.prefix(count))
      #expect(throws: SodiumError.decryptionFailed) { _ = try SealedBox.open(cut.span.bytes, secret: secret) }
    }
  }

  @Test("An invalid public key is refused")
  func badPublicKeys() {
    for bad in [
      [], [UInt8](repeating: 9, count: 31), [UInt8](repeating: 9, count: 33), [UInt8](repeating: 0, count: 32),
    ] {
      #expect(throws: SodiumError.badArgument) { _ = try SealedBox.seal([UInt8(1)].span.bytes, to: bad) }
    }
  }
}
