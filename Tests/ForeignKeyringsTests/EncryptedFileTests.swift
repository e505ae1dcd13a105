import LatchkeySecretClient
import LatchkeySodium
import Testing

@testable import LatchkeyForeignKeyrings

/// Readers of wallets and encrypted keyrings, with the content that a hostile file may have. kwalletd5 and libsecret of Debian 12
/// and gnome-keyring 48 wrote the files here. Tests/Integration/Import has more files of the real programs.
@Suite struct EncryptedFileTests {
  init() throws { try Sodium.initialize() }

  private static let wallet =
    "S1dBTExFVAoNAA0KAAEDAgAAAAGw8rl9xdK3aybgQECLsdivAAAAAxBDv8d/6+dfr+wMQwn6zPEdeNyO1RIU5Ri1EU/iRJCu97RM"
    + "+v1cUiI9VJgZbIoue3+OtQ5FiRJpYV2XDbGHPutkjSDlQTUrhhNWxDDBtxEeCAIb/XLE8E3+EyJTz1Aavddf8tJIyU2oUacgAk2l"
    + "zzCkqSt+L5k7B6S7pAO4f5z8ZBZVZcZgcXBL3FXIwb8wZkloT1VfmH/9mfXpaCWXtJ3X42U4FER4GcWZnFe6fijkSBv0OoSS1wHT"
    + "pxH4cntjPgwNeTmheNaL"
  private static let salt =
    "7ala1w/nHmgZ//xbTpXZe48AbkNTJMNvTuB8K8e+5ncNLq4vxZDfnRbOVwGCiD2au3BDOfbIT4Q="
  private static let keyring =
    "R25vbWVLZXlyaW5nCg0ACgEAIAAAAHmuDunKNvPUdAK0QVSg1j38ubNkBgavNUtlKUO+U+UioIYBABGCA2sAAAAAAgAAAGEA3sE/"
    + "6co13VrtseBSLeGZpL+Ko+wqgJ/D/LwGd2korZwCdXNlcgBbxrrGmqv3gJbAMoIAJvkStPqcDu5tAKshSoWuJrY2iAUjSdvOPSU2"
    + "KVTxmVz6upWUfLHKh2Y6XR7NoVB2clyKhEkHGgEJYYYfUnQgz6CDD4t5YcFME0y7WfoRa7wI4TEhloYopCzmFQ22dHTuYuzmFt8G"
    + "X4IqM4FEYsjV+QCa8/zmhFPbACo4rlocBkfXseaimDVLYQDKuQ+wNxhNsLJhR2R+p2G3FoxEJvX6uAvVuobELP8ZPwIjSygJ2U+R"
    + "1dtCEuJziVezurh4xzdouh/Vga2lOQXN+XAwGQ2sxGquN3C1gPfQVpGmBOev7SlbOi4dU2aqi3Dhk7LWqDjNEwxEJ+K6OwZh73Yk"
    + "vAAxASQA"

  /// A file of gnome-keyring 48, with four items.
  private static let binary =
    "R25vbWVLZXlyaW5nCg0ACgAAAAAAAAAFTG9naW4AAAAAAAAAAAAAAABrBFfuAAAAAAAAAAAAAAPuD+GeLTree88AAAAAAAAAAAAA"
    + "AAAAAAAAAAAABAAAAAIAAAAAAAAAAgAAAAFuAAAAAAAAACA4NDE5YjcxYzg3YTIyNWEyYzcwYjUwNDg2ZmJlZTU0NQAAAAp4ZGc6"
    + "c2NoZW1hAAAAAAAAACBjNGQwYTU4M2NhMWU5NGYxYzU0MDY5NTliZDAzYjJiYgAAAAMAAAAAAAAAAgAAAAFuAAAAAAAAACBlY2Ni"
    + "Yzg3ZTRiNWNlMmZlMjgzMDhmZDlmMmE3YmFmMwAAAAp4ZGc6c2NoZW1hAAAAAAAAACBjNGQwYTU4M2NhMWU5NGYxYzU0MDY5NTli"
    + "ZDAzYjJiYgAAAAEAAAAAAAAAAgAAAAFuAAAAAAAAACBjNGNhNDIzOGEwYjkyMzgyMGRjYzUwOWE2Zjc1ODQ5YgAAAAp4ZGc6c2No"
    + "ZW1hAAAAAAAAACBjNGQwYTU4M2NhMWU5NGYxYzU0MDY5NTliZDAzYjJiYgAAAAQAAAAAAAAAAQAAAAFuAAAAAAAAACBhODdmZjY3"
    + "OWEyZjNlNzFkOTE4MWE2N2I3NTQyMTIyYwAAAsBXfLWrxl9bu66lZ3uuFFYg9IyctX4mH76ZM98KH53fbB9z8bFzIHcSzTma+cpV"
    + "lKpK6/TLIjsBhoDJ/is/JPuLzn2HRl6pBEIm4YUk9urXaXZdDsG0cVs/djcEiGG5NxKXV5Xs0y4I1/XHFi8KHVLHYudXZrr1ela7"
    + "qtuS7q6D7bRaE/zWVcnSQpurPECfIh0hq7elM/AasAcIR7Kin+jy0+z6kCC6XomUaWbdtVzGkK1oY7f9eWj7PHMYYpA/EA3tNosw"
    + "Dp4O/SNcoWPUbpXMuiCJHYmEl1JWLC4CkErLCnwHKu1spizHDpUBz3KNZCLb6pkksrGrvRfNhystSZ9oNXTOVPcc8OXGe7WcxpRO"
    + "vAtkCeb3tiKp9RIdmx+L7eIQkcdYe3619dhXk2jecHPp++le5PUXu2Wlnhh+PFxLeWlQBGrDYO6idvO/DhFf9yhMwtSoseH2AK86"
    + "qB8QnLwKyRuSsmTosoi3CSvzdDTsSkrmkCVIvui4HZcfmNe9/70YbimcZkoSrJPtlyzmwgLLS12xaSNg+IPNr8bjiEKkYnntHuqy"
    + "S/WJ8lWGQnVyHsVzMo05PaT58tLfLkO5NsOOCFnyvRGgIDZsg4qjYggQdI7lQh+jrjkFX5yiR+UoR13kOuY/2izja/vL2I931THQ"
    + "MfBy3ropoX+0ruaaU2caBINk0FEo2o/3hbTM7LfPhsg584zOF9zX2BQS7uG/lBblvjXW+wBMWL0i2QBiszMhHFFtKMfb6K/2h4sK"
    + "9pQZljW/ehZhMT5K1Km0tpFcnAh+ssGIJZPRyqQErDpgHFJrxOb3RArR9Gj4Z0ADYaKKjbQfHOtUbmNtKng1RA0/kHFK4ubaZ/UY"
    + "vLGWy9Sdrm+RabcFBMy2STuFRp6JPdpSc88bGhQbevMCn6UG/FrKM3GLSQSfE0jrwGM5lIs1XopXUQ=="
  private static let binaryPassword = "the keyring's own password"

  private func octets(_ text: String) throws -> [UInt8] { try #require(Base64.decode(text)) }
  private func memory(_ octets: [UInt8]) throws -> SecureBytes { try SecureBytes(copying: octets.span.bytes) }
  private func memory(_ text: String) throws -> SecureBytes { try memory(Array(text.utf8)) }
  private func text(_ secret: Secret) -> String {
    secret.withBytes { bytes in bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
  }

  private func wallet(_ octets: [UInt8], _ password: String = "wallet password") throws -> ForeignCollection {
    try WalletFile.read(
      try memory(octets), name: "kdewallet", salt: try memory(try self.octets(Self.salt)),
      password: try memory(password))
  }

  private func keyring(_ octets: [UInt8], _ password: String = "portal") throws -> ForeignCollection {
    try KeyringFile.read(try memory(octets), name: "default", password: try memory(password))
  }

  @Test func aWalletOfKWallet() throws {
    let read = try wallet(try octets(Self.wallet))
    #expect(read.items.map(\.label) == ["Folder/entry", "Folder/map", "Folder/stream"])
    #expect(read.items.map { text($0.secret) } == ["secret", #"{"a":"b"}"#, "AQI="])
    #expect(read.items.map { $0.attributes["type"] } == ["plaintext", "map", "base64"])
    #expect(throws: ForeignFileError.wrongPassword) { try wallet(try octets(Self.wallet), "another") }
  }

  @Test func aKeyringOfLibsecret() throws {
    let read = try keyring(try octets(Self.keyring))
    #expect(read.items.map(\.label) == ["L ä", "M"] && read.items.map { text($0.secret) } == ["säcret", "x"])
    #expect(read.items.map(\.attributes) == [["a": "b", "user": "me"], ["a": "c"]])
    #expect(read.items.allSatisfy { $0.modified > 1_700_000_000 })
    #expect(throws: ForeignFileError.wrongPassword) { try keyring(try octets(Self.keyring), "another") }
  }

  @Test func everyCutOfAFileIsAnError() throws {
    let (whole, other) = (try octets(Self.wallet), try octets(Self.keyring))
    for count in 0..<whole.count {
      #expect(throws: ForeignFileError.self, "\(count)") { try wallet(Array(whole[..<count])) }
    }
    for count in 0..<other.count {
      #expect(throws: ForeignFileError.self, "\(count)") { try keyring(Array(other[..<count])) }
    }
    let old = try octets(Self.binary)
    for count in 0..<old.count {
      #expect(throws: ForeignFileError.self, "\(count)") { try keyring(Array(old[..<count]), Self.binaryPassword) }
    }
  }

  @Test func aKeyringOfGNOMEKeyring() throws {
    let whole = try octets(Self.binary)
    let read = try keyring(whole, Self.binaryPassword)
    #expect(
      Dictionary(uniqueKeysWithValues: read.items.map { ($0.label, $0.secret.count) })
        == ["Plain": 8, "Wide ä漢🔑": 10, "Octets": 256, "Bare": 0])
    #expect(throws: ForeignFileError.wrongPassword) { try keyring(whole, "another") }
    // The encrypted part is at the end, and has a check sum over all its bytes.
    for place in stride(from: whole.count - 1, to: whole.count - 480, by: -7) {
      var changed = whole
      changed[place] ^= 1
      #expect(throws: ForeignFileError.wrongPassword, "\(place)") { try keyring(changed, Self.binaryPassword) }
    }
  }

  @Test func aChangedBitOfAWalletIsAnError() throws {
    let whole = try octets(Self.wallet)
    // The unencrypted part names the length of the rest. The rest begins with a block of random bytes, and has padding before its
    // last 24 bytes.
    for place in stride(from: whole.count - 24, to: whole.count - 150, by: -13) {
      var changed = whole
      changed[place] ^= 1
      #expect(throws: ForeignFileError.wrongPassword, "\(place)") { try wallet(changed) }
    }
  }

  @Test func hugeCountsAreAnError() throws {
    let start = Array("KWALLET\n\r\0\r\n".utf8) + [0, 1, 3, 2]
    func refuses(_ octets: [UInt8], _ error: ForeignFileError) {
      #expect(throws: error) { try wallet(octets) }
    }
    refuses(start + [0xff, 0xff, 0xff, 0xff], .damaged)
    refuses(start + [0, 0, 0, 1] + [UInt8](repeating: 0, count: 16) + [0x7f, 0xff, 0xff, 0xff], .tooLarge)
    refuses(start + [0, 0, 0, 0] + [UInt8](repeating: 0, count: 31), .damaged)
    refuses(Array(start[..<12]) + [0, 1, 2, 0], .forGPG)
    refuses(Array(start[..<12]) + [0, 1, 9, 2], .unknownWallet)
    // In the decrypted content: a folder with too many entries, an entry of an unknown kind, and a text that is longer than the
    // file.
    for content: [UInt8] in [
      [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff], [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0],
      [0xff, 0xff, 0xff, 0xfe], [0, 0, 0],
    ] {
      #expect(throws: ForeignFileError.damaged) {
        try WalletContent.items(try memory(content), in: 0..<content.count, served: [:])
      }
    }
    // A keyring with so many rounds that they would take hours, and with offsets that go backwards.
    var rounds = try octets(Self.keyring)
    rounds.replaceSubrange(54..<58, with: [0xff, 0xff, 0xff, 0xff])
    #expect(throws: ForeignFileError.damaged) { try keyring(rounds) }
    let whole = try octets(Self.keyring)
    for place in (whole.count - 6)..<whole.count {
      for value: UInt8 in [0, 1, 3, 0x7f, 0xff] where whole[place] != value {
        var changed = whole
        changed[place] = value
        #expect(throws: ForeignFileError.self, "\(place) \(value)") { try keyring(changed) }
      }
    }
    for count in 0..<64 {
      for value: UInt8 in [0, 1, 8, 0xff] {
        #expect(throws: ForeignFileError.self) {
          try VariantKeyring.content(try memory([UInt8](repeating: value, count: count)))
        }
      }
    }
  }

  /// An array of empty elements whose ends are all 0. It could have as many elements as bytes.
  @Test func moreElementsThanTheLimitAreNotListed() throws {
    // The end of an element takes 1 byte in an array of up to 255 bytes, 2 bytes in an array of up to 65,535, and 4 bytes in a
    // longer array.
    for (size, ending) in [(10, 1), (500, 2), (400_000, 4)] {
      let bytes = try memory([UInt8](repeating: 0, count: size))
      let array = VariantContainer(0..<size)
      #expect(try array.elements(of: bytes, limit: size / ending).count == size / ending)
      #expect(throws: ForeignFileError.tooLarge) { try array.elements(of: bytes, limit: size / ending - 1) }
      // The reader checks the limit first. It would find a wrong end only later, while it lists the elements.
      var broken = [UInt8](repeating: 0, count: size)
      broken[0] = 0xff
      #expect(throws: ForeignFileError.tooLarge) {
        try array.elements(of: try memory(broken), limit: size / ending - 1)
      }
    }
    var whole = try octets(Self.keyring)
    // Everything after the number of rounds is zeros, so all offsets are 0.
    whole = Array(whole[..<58]) + [UInt8](repeating: 0, count: 4 * KeyringFile.itemLimit + 100)
    whole[whole.count - 4] = 18 + 32
    #expect(throws: ForeignFileError.tooLarge) { try keyring(whole) }
  }

  @Test func whatIsNoTextStays() throws {
    func read(_ value: [UInt8], _ kind: WalletContent.Kind) throws -> (String?, String) {
      let item = try WalletContent.item(try memory(value), 0..<value.count, kind, folder: "f", entry: "e")
      return (item.attributes["type"], text(item.secret))
    }
    // Half a character, half a surrogate pair, and a map that ends early.
    #expect(try read([0, 0, 0, 1, 0x61], .password) == ("base64", "AAAAAWE="))
    #expect(try read([0, 0, 0, 2, 0xd8, 0], .password) == ("plaintext", "\u{FFFD}"))
    #expect(try read([0, 0, 0, 1], .map) == ("base64", "AAAAAQ=="))
    #expect(try read([], .map) == ("map", "{}"))
  }
}
