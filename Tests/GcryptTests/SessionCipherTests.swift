import Testing

@testable import LatchkeyGcrypt

@Suite("AES-128-CBC with PKCS#7")
struct SessionCipherTests {
  // NIST SP 800-38A, F.2.1 CBC-AES128.Encrypt.
  static let key = bytes(hex: "2b7e151628aed2a6abf7158809cf4f3c")
  static let iv = bytes(hex: "000102030405060708090a0b0c0d0e0f")
  static let plaintext = bytes(
    hex: """
      6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
      30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710
      """)
  static let ciphertext = bytes(
    hex: """
      7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2
      73bed6b8e3c1743b7116e69e22229516 3ff1caa1681fac09120eca307586e1a7
      """)

  let cipher: SessionCipher

  init() throws { cipher = try SessionCipher(key: Self.key) }

  @Test("AES-128-CBC agrees with NIST's vector")
  func nist() throws {
    let sealed = try cipher.encrypt(Self.plaintext, iv: Self.iv).ciphertext
    #expect(sealed.count == 80)
    #expect(Array(sealed[..<64]) == Self.ciphertext)
    #expect(try cipher.decrypt(sealed, iv: Self.iv) == Self.plaintext)
  }

  @Test(
    "AES-128-CBC names the ciphertext's length",
    arguments: [(0, 16), (1, 16), (15, 16), (16, 32), (17, 32), (1 << 20, (1 << 20) + 16)])
  func length(plaintext: Int, ciphertext: Int) {
    #expect(SessionCipher.ciphertextLength(plaintext: plaintext) == ciphertext)
  }

  @Test("AES-128-CBC returns the given plaintext", arguments: [0, 1, 15, 16, 17, 31, 32, 33, 255, 4096, 1 << 20])
  func roundTrip(count: Int) throws {
    let secret = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    let sealed = try cipher.encrypt(secret)
    #expect(try cipher.decrypt(sealed.ciphertext, iv: sealed.iv) == secret)
  }

  @Test("AES-128-CBC uses a new IV each time")
  func freshIV() throws {
    let ivs = try (0..<100).map { _ in try cipher.encrypt([1, 2, 3]).iv }
    #expect(Set(ivs).count == 100)
  }

  /// Changes of the IV give every byte of the last plaintext block every value.
  @Test("AES-128-CBC accepts only strict padding")
  func corruptedPadding() throws {
    for length in 0..<16 {
      let secret = [UInt8](repeating: 0x41, count: length)
      let padded = secret + [UInt8](repeating: UInt8(16 - length), count: 16 - length)
      let sealed = try cipher.encrypt(secret)
      for position in 0..<16 {
        for flip in UInt8(1)...255 {
          var iv = sealed.iv
          iv[position] ^= flip
          var changed = padded
          changed[position] ^= flip
          if let expected = strictlyUnpadded(changed) {
            #expect(try cipher.decrypt(sealed.ciphertext, iv: iv) == expected)
          } else {
            #expect(throws: GcryptError.undecryptable) { try cipher.decrypt(sealed.ciphertext, iv: iv) }
          }
        }
      }
    }
  }

  /// PKCS#7 as RFC 5652 section 6.3 describes it.
  private func strictlyUnpadded(_ block: [UInt8]) -> [UInt8]? {
    guard let last = block.last, (1...16).contains(last) else { return nil }
    let padding = block.suffix(Int(last))
    return padding.allSatisfy { $0 == last } ? Array(block.dropLast(padding.count)) : nil
  }

  @Test("AES-128-CBC never returns the secret from a ciphertext whose last block was changed")
  func corruptedCiphertext() throws {
    let secret = [UInt8](repeating: 0x5A, count: 40)
    let sealed = try cipher.encrypt(secret)
    for position in 32..<48 {
      for flip in UInt8(1)...255 {
        var changed = sealed.ciphertext
        changed[position] ^= flip
        // One in 256 garbled blocks has a valid padding, and CBC cannot notice that. The result is never the secret.
        if let opened = try? cipher.decrypt(changed, iv: sealed.iv) { #expect(opened != secret) }
      }
    }
  }

  @Test("AES-128-CBC refuses wrong lengths of ciphertext", arguments: [0, 1, 15, 17, 31, 33])
  func ciphertextLengths(count: Int) {
    let ciphertext = [UInt8](repeating: 0, count: count)
    #expect(throws: GcryptError.undecryptable) { try cipher.decrypt(ciphertext, iv: Self.iv) }
  }

  @Test("AES-128-CBC refuses wrong lengths of IV", arguments: [0, 1, 8, 15, 17, 32])
  func ivLengths(count: Int) throws {
    let sealed = try cipher.encrypt([1, 2, 3])
    #expect(throws: GcryptError.undecryptable) {
      try cipher.decrypt(sealed.ciphertext, iv: [UInt8](repeating: 0, count: count))
    }
  }

  @Test("AES-128-CBC refuses buffers of a wrong size")
  func bufferSizes() {
    var small = [UInt8](repeating: 0, count: 15)
    let block = [UInt8](repeating: 0, count: 16)
    #expect(throws: GcryptError.badBufferSize) {
      var room = small.mutableSpan
      _ = try cipher.decrypt(block.span.bytes, iv: block.span.bytes, into: room.mutableBytes)
    }
  }

  @Test("AES-128-CBC accepts only a key of 16 bytes", arguments: [0, 15, 17, 32])
  func keyLengths(count: Int) {
    #expect(throws: GcryptError.badBufferSize) { try SessionCipher(key: [UInt8](repeating: 0, count: count)) }
  }

  @Test("The session cipher has memory for as many idle sessions as the service accepts")
  func manySessions() throws {
    let sessions = try (0..<12_289).map { _ in try SessionCipher(key: Self.key) }
    let sealed = try sessions[0].encrypt(Self.plaintext)
    #expect(try sessions[12_288].decrypt(sealed.ciphertext, iv: sealed.iv) == Self.plaintext)
  }
}

@Suite("HKDF-SHA256")
struct SessionKeyTests {
  /// RFC 5869, A.3, with neither salt nor info. A session uses the first 16 of the 42 bytes of output, and HKDF returns the same 16
  /// bytes if only 16 are requested.
  @Test("HKDF-SHA256 agrees with the RFC's vector")
  func rfc5869() throws {
    let key = try SessionKey(deriving: SecureMemory(copying: [UInt8](repeating: 0x0B, count: 22)))
    let derived = try key.memory.withBytes { (key) throws(GcryptError) in Array(key) }
    #expect(derived == bytes(hex: "8da4e775a563c18f715f802a063c5a31"))
  }
}
