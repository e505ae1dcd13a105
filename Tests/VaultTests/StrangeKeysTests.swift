import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyVault

@Suite("Keys of another vault")
struct StrangeKeysTests {
  let home: Home

  init() throws { home = try Home() }

  @Test("a keybag with another epoch of the same number is refused while keys are in memory")
  func anotherGeneration() throws {
    let other = try Home(copying: home)
    let vault = try home.unlocked()
    let id = try vault.add(["n": "1"], "kept", .afterFirstUnlock)
    let mine = try home.rotateKeybag()
    try home.unlock(vault, mine)
    let genuine = home.read("keybag")
    let strange = try other.rotateKeybag()
    home.write("keybag", other.read("keybag"))
    vault.refresh()
    #expect(vault.problemTexts.first?.contains("not those of this session") == true)
    #expect(try !vault.recognises(strange.tiers, former: strange.former))
    #expect(try vault.recognises(mine.tiers, former: mine.former))
    #expect(try vault.secretText(id) == "kept")
    vault.lock()
    vault.refresh()
    #expect(try !vault.recognises(strange.tiers, former: strange.former))
    // The right keybag is put back and can be read again.
    home.write("keybag", genuine)
    vault.refresh()
    #expect(vault.problemTexts == [])
    // At the end of the session, no key in memory contradicts the keybag.
    vault.seal()
    home.write("keybag", other.read("keybag"))
    vault.refresh()
    #expect(try vault.recognises(strange.tiers, former: strange.former))
  }

  @Test("a keybag without any of the known epochs is refused too")
  func noCommonGeneration() throws {
    let other = try Home(copying: home)
    let vault = try home.unlocked()
    _ = try other.rotateKeybag()
    try other.drop(before: 2)
    home.write("keybag", other.read("keybag"))
    vault.refresh()
    #expect(vault.problemTexts.first?.contains("not those of this session") == true)
    #expect(try vault.recognises(home.tiers))
  }

  @Test("a later keybag of the same vault is accepted, with another password, new keys and the former ones gone")
  func laterKeybag() throws {
    let vault = try home.unlocked()
    let rotated = try home.rotateKeybag()
    vault.refresh()
    #expect(try vault.problemTexts == [] && vault.recognises(rotated.tiers, former: rotated.former))
    try home.unlock(vault, rotated)
    try home.drop(before: 2)
    vault.refresh()
    #expect(try vault.problemTexts == [] && vault.recognises(rotated.tiers))
  }

  @Test("a collection that new tier keys do not open keeps its keys")
  func keptTierKeys() throws {
    let vault = try home.unlocked()
    let id = try vault.add(["n": "1"], "kept", .afterFirstUnlock)
    let collection = try vault.collections.collection(1)
    let before = try #require(collection.session).key.tag(.classWrap)
    let strange = HeldKey(try Key.random())
    #expect(throws: VaultError.self) {
      try collection.take(
        unlocked: nil, session: strange, epoch: 1, former: [], lacksFormer: false, share: vault.keys.share,
        vault: vault.database.ready().vault)
    }
    #expect(try collection.session?.key.tag(.classWrap) == before)
    vault.lock()
    #expect(try vault.secretText(id) == "kept")
    let later = try vault.add(["n": "2"], "stored while locked", .whenUnlocked)
    try home.unlock(vault)
    #expect(try vault.secretText(later) == "stored while locked")
  }
}
