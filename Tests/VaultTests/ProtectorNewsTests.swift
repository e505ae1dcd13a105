import Glibc
import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyVault

@Suite("Protectors that come and go")
struct ProtectorNewsTests {
  private let home: Home
  private let vault: Vault
  private let told = ToldVault()

  init() throws {
    home = try Home()
    vault = try home.unlocked()
    vault.delegate = told
  }

  /// Puts a keybag into the place of the present one, as the helper does.
  private func put(_ keybag: Keybag) {
    home.write("keybag", keybag.encoded)
    vault.refresh()
  }

  @Test("the vault tells each one once, and neither another name nor new keys nor a password are news")
  func news() throws {
    let first = try #require(SecurityKey(name: "blue", credential: [UInt8](repeating: 1, count: 64)))
    let second = try #require(SecurityKey(name: "red", credential: [UInt8](repeating: 2, count: 64)))
    let one = try Home.open(home.keybag).addingSecurityKey(first, answer: try Key.random())
    put(one)
    #expect(told.protectors == [#"+["security-key"] -[]"#])
    put(one)
    let two = try Home.open(one).addingSecurityKey(second, answer: try Key.random())
    put(two)
    #expect(told.protectors.count == 2)
    let renamed = try #require(try Home.open(two).renamingSecurityKey("red", to: "green"))
    put(renamed)
    let rotated = try Home.open(renamed).rotated(password: Home.password.span.bytes, cost: Home.cost)
    put(rotated.keybag)
    #expect(rotated.keybag.securityKeys.count == 2 && told.protectors.count == 2)
    put(try #require(try rotated.removingSecurityKey(named: "blue")))
    #expect(told.protectors.dropFirst(2) == [#"+[] -["security-key"]"#])
    // Another start has no news.
    let later = ToldVault()
    let vault = home.vault()
    vault.delegate = later
    vault.refresh()
    #expect(later.protectors.isEmpty)
  }
}
