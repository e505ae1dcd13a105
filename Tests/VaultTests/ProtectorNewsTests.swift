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

  /// The keybag with a security key of that name.
  private func adding(_ name: String, to keybag: Keybag) throws -> Keybag {
    let key = try #require(SecurityKey(name: name, credential: Sodium.randomBytes(64)))
    let answer = try Key.random()
    return try Home.open(keybag).addingSecurityKey(key, answer: answer)
  }

  @Test("each is told once")
  func news() throws {
    let one = try adding("blue", to: home.keybag)
    put(one)
    put(one)
    #expect(told.protectors == ["+security-key"])
    let two = try adding("red", to: one)
    put(try Home.open(two).settingFinger(mayBeInMemory: false))
    #expect(told.protectors == ["+security-key", "+security-key +finger"])
    put(one)
    #expect(told.protectors.last == "-security-key -finger")
    put(home.keybag)
    #expect(told.protectors.last == "-security-key")
  }

  @Test("a keybag that is gone for a moment hides no news")
  func gone() throws {
    let present = home.keybag
    for file in ["keybag", "keybag.copy"] { home.remove(file) }
    vault.refresh()
    put(try adding("blue", to: present))
    #expect(told.protectors == ["+security-key"])
  }

  @Test("another name, new keys and the vault's start are no news, and a finger's key in memory is")
  func same() throws {
    let finger = try Home.open(try adding("blue", to: home.keybag)).settingFinger(mayBeInMemory: false)
    put(finger)
    told.protectors = []
    put(try #require(try Home.open(finger).renamingSecurityKey("blue", to: "green")))
    let password = Home.password
    let opened = try Home.open(finger)
    let rotated = try opened.rotated(password: password.span.bytes, cost: Home.cost).keybag
    put(rotated)
    let later = home.vault()
    later.delegate = told
    later.refresh()
    #expect(told.protectors.isEmpty)
    put(try Home.open(rotated).settingFinger(mayBeInMemory: true))
    #expect(told.protectors == ["+finger -finger"])
  }
}
