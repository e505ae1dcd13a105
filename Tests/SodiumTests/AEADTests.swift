import LatchkeySodium
import Testing

@Suite("XChaCha20-Poly1305")
struct AEADTests {
  private let keyBytes = Sodium.randomBytes(32)
  private let associated = Array("vault, row, column".utf8)

  init() throws { try Sodium.initialize() }

  private func opens(_ sealed: [UInt8], _ keyBytes: [UInt8], _ associated: [UInt8]) throws -> Bool {
    let key = try key(keyBytes)
    do {
      _ = try AEAD.open(sealed.span.bytes, key: key, associated: associated)
      return true
    } catch {
      #expect(error == .decryptionFailed)
      return false
    }
  }

  @Test("A sealed value of any size opens", arguments: [0, 1, 63, 64, 65, 100_000])
  func roundTrip(size: Int) throws {
    let plaintext = Sodium.randomBytes(size)
    let key = try key(keyBytes)
    let sealed = AEAD.seal(plaintext.span.bytes, key: key, associated: associated)
    #expect(sealed.count == size + AEAD.overhead)
    let opened = try AEAD.open(sealed.span.bytes, key: key, associated: associated)
    #expect(octets(opened) == plaintext)
  }

  // draft-irtf-cfrg-xchacha-03, A.3.1.
  @Test("XChaCha20-Poly1305 is the published cipher")
  func vector() throws {
    let sealed = [UInt8](
      hex: "404142434445464748494a4b4c4d4e4f5051525354555657"
        + "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216"
        + "cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff921f9664c97637da9768812f615c68b13"
        + "b52ec0875924c1c7987947deafd8780acf49")
    let plaintext = try AEAD.open(
      sealed.span.bytes, key: try key(Array(0x80...0x9F)), associated: [UInt8](hex: "50515253c0c1c2c3c4c5c6c7"))
    #expect(
      octets(plaintext)
        == Array(
          ("Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would "
            + "be it.").utf8))
  }

  @Test("No two nonces are equal")
  func nonces() throws {
    let key = try key(keyBytes)
    var seen: Set<[UInt8]> = []
    for _ in 0..<1000 { seen.insert(Array(AEAD.seal([UInt8(1)].span.bytes, key: key, associated: []).prefix(24))) }
    #expect(seen.count == 1000)
  }

  @Test("A value with any bit flipped does not open")
  func everyBit() throws {
    let sealed = AEAD.seal([UInt8](1...33).span.bytes, key: try key(keyBytes), associated: associated)
    #expect(try opens(sealed, keyBytes, associated))
    for bit in 0..<(sealed.count * 8) {
      #expect(try !opens(sealed.flipped(bit), keyBytes, associated), "sealed bit \(bit)")
    }
    for bit in 0..<256 { #expect(try !opens(sealed, keyBytes.flipped(bit), associated), "key bit \(bit)") }
    for bit in 0..<(associated.count * 8) {
      #expect(try !opens(sealed, keyBytes, associated.flipped(bit)), "associated bit \(bit)")
    }
  }

  @Test("A shorter or longer value does not open")
  func everyLength() throws {
    let sealed = AEAD.seal([UInt8](1...33).span.bytes, key: try key(keyBytes), associated: associated)
    for count in 0..<sealed.count {
      #expect(try !opens(Array(sealed.prefix(count)), keyBytes, associated))
      #expect(try !opens(Array(sealed.suffix(count)), keyBytes, associated))
    }
    #expect(try !opens(sealed + [0], keyBytes, associated))
    for count in 0..<associated.count { #expect(try !opens(sealed, keyBytes, Array(associated.prefix(count)))) }
    #expect(try !opens(sealed, keyBytes, associated + [0]))
  }
}
