import LatchkeySodium
import Testing

@testable import LatchkeyPrompters

@Suite("The strength of a passphrase")
struct PassphraseStrengthTests {
  init() throws { try Sodium.initialize() }

  private func percent(_ text: String) throws -> Int {
    PassphraseStrength.percent(try SecureBytes(copying: Array(text.utf8).span.bytes))
  }

  @Test(
    "weak passphrases",
    arguments: ["", "a", "Bank", "123456789", "aaaaaaaaaaaaaaaa", "abcdefghijkl", "zyxwvuts", "12341234", "sesame"])
  func weak(_ text: String) throws {
    #expect(try percent(text) < PassphraseStrength.weak)
  }

  @Test("strong passphrases", arguments: ["correct horse battery staple", "x9$Lq2!vT7mP", "Grüße aus Köln, 1999"])
  func strong(_ text: String) throws {
    #expect(try percent(text) == 100)
  }

  @Test("one more letter never weakens a passphrase")
  func grows() throws {
    let text = "sunshine on a Monday 42!"
    let all = try (0...text.count).map { try percent(String(text.prefix($0))) }
    #expect(all == all.sorted() && all.first == 0 && all.last == 100)
  }
}
