import LatchkeySodium
import Testing

@testable import LatchkeyKeybag

@Suite("A security key")
struct SecurityKeyProtectorTests {
  private let blue: SecurityKey
  private let red: SecurityKey

  init() throws {
    try Sodium.initialize()
    blue = try #require(SecurityKey(name: "blue", credential: Sodium.randomBytes(48)))
    red = try #require(SecurityKey(name: "red", credential: Sodium.randomBytes(SecurityKey.credentialLimit)))
  }

  private func refusal(_ keybag: Keybag, _ answer: borrowing Key) -> KeybagError? {
    do throws(KeybagError) {
      _ = try keybag.open(securityKeyAnswer: answer).tiers()
      return nil
    } catch { return error }
  }

  private func keyed(_ answer: borrowing Key) throws -> Keybag {
    let keybag = try Keybag.create(with: password, cost: cheap).addingSecurityKey(blue, answer: answer)
    return try Keybag(decoding: keybag.encoded)
  }

  @Test("A security key opens the keybag that it was added to, next to the password, and no other")
  func opens() throws {
    let answer = try Key.random()
    let other = try Key.random()
    let keybag = try keyed(answer)
    #expect(keybag.protectors.map(\.kind) == [.password, .securityKey] && keybag.generation == 2)
    #expect(keybag.securityKeys == [blue])
    let opened = try keybag.open(with: password)
    let tiers = octets(try opened.tiers().unlocked)
    #expect(octets(try keybag.open(securityKeyAnswer: answer).tiers().unlocked) == tiers)
    #expect(refusal(keybag, other) == .wrongPassword)
    #expect(refusal(try keyed(other), answer) == .wrongPassword)
    // A second key opens it as well, until that key is removed.
    let both = try Keybag(decoding: opened.addingSecurityKey(red, answer: other).encoded)
    #expect(both.securityKeys == [blue, red] && refusal(both, answer) == nil && refusal(both, other) == nil)
    let opener = try both.open(securityKeyAnswer: other)
    let removed = try #require(try opener.removingSecurityKey(named: "blue"))
    #expect(refusal(removed, answer) == .wrongPassword && refusal(removed, other) == nil)
    #expect(try opener.removingSecurityKey(named: "green") == nil)
  }

  @Test("A security key keeps its protector under new keys and another password, without a touch")
  func stays() throws {
    let answer = try Key.random()
    let keybag = try keyed(answer)
    let rotated = try keybag.open(with: password).rotated(with: password).keybag
    let read = try Keybag(decoding: rotated.encoded)
    #expect(read.securityKeys == [blue] && refusal(read, answer) == nil)
    #expect(rotated.protectors[1].sealed != keybag.protectors[1].sealed)
    let another = Array("another".utf8)
    let next = try rotated.open(securityKeyAnswer: answer).settingPassword(another.span.bytes, cost: cheap)
    #expect(refusal(next, answer) == nil)
    #expect(failure { () throws(KeybagError) in _ = try next.open(with: password) } == .wrongPassword)
  }

  @Test("A security key has a name, which can be changed")
  func names() throws {
    let answer = try Key.random()
    let other = try Key.random()
    let both = try keyed(answer).open(with: password).addingSecurityKey(red, answer: other).open(with: password)
    let renamed = try #require(try both.renamingSecurityKey("red", to: "the spare one"))
    let read = try Keybag(decoding: renamed.encoded)
    #expect(read.securityKeys.map(\.name) == ["blue", "the spare one"] && refusal(read, other) == nil)
    #expect(try both.renamingSecurityKey("green", to: "grey") == nil)
    for taken in ["blue", "red"] {
      let key = try #require(SecurityKey(name: taken, credential: [1]))
      #expect(addition(key, to: both) == .alreadyThere)
    }
    #expect(addition(try #require(SecurityKey(name: "again", credential: blue.credential)), to: both) == .alreadyThere)
    #expect(failure { () throws(KeybagError) in _ = try both.renamingSecurityKey("red", to: "blue") } == .alreadyThere)
    for name in ["", " a", "a ", "a\nb", "a\u{1B}b", "a\u{202E}b", String(repeating: "n", count: 65)] {
      #expect(SecurityKey(name: name, credential: [1]) == nil, "\(name.debugDescription)")
      #expect(
        failure { () throws(KeybagError) in _ = try both.renamingSecurityKey("red", to: name) } == .unreasonable)
    }
    for size in [0, SecurityKey.credentialLimit + 1] {
      #expect(SecurityKey(name: "a", credential: [UInt8](repeating: 0, count: size)) == nil)
    }
  }

  private func addition(_ key: SecurityKey, to opened: borrowing Keybag.Opened) -> KeybagError? {
    guard let answer = try? Key.random() else { return .noMemory }
    do throws(KeybagError) {
      _ = try opened.addingSecurityKey(key, answer: answer)
      return nil
    } catch { return error }
  }

  @Test("A security key is one of eight at most, and is not added if the device key is the only protector")
  func bounds() throws {
    let answer = try Key.random()
    var keybag = try keyed(answer)
    for number in 2...Keybag.securityKeyLimit {
      let key = try #require(SecurityKey(name: "\(number)", credential: [UInt8(number)]))
      keybag = try keybag.open(securityKeyAnswer: answer).addingSecurityKey(key, answer: .random())
    }
    let opened = try Keybag(decoding: keybag.encoded).open(securityKeyAnswer: answer)
    #expect(addition(red, to: opened) == .unreasonable)
    let secret = DeviceSecret(
      protector: Sodium.randomBytes(16),
      wrapping: try #require(
        DeviceSecret.Wrapping(identity: Sodium.randomBytes(16), wrapped: Sodium.randomBytes(72))), key: try .random())
    let passwordless = try opened.removingPassword(secret)
    #expect(passwordless.securityKeys.isEmpty)
    #expect(addition(red, to: try passwordless.open(deviceSecret: secret.key)) == .unreasonable)
  }

  @Test("A security key opens no keybag with a changed byte, and no changed byte traps")
  func everyByte() throws {
    let answer = try Key.random()
    let file = try keyed(answer).encoded
    for place in file.indices.dropLast(32) {
      let other = file.with(file[place] ^ 1, at: place).resummed
      #expect(throws: (any Error).self, "\(place)") { _ = try Keybag(decoding: other).open(securityKeyAnswer: answer) }
    }
  }

  @Test("FORMAT.md's vectors open")
  func vectors() throws {
    var count = 0
    for bag in try Vectors().keybags {
      let keybag = try Keybag(decoding: [UInt8](hex: bag.file))
      for key in bag.securityKeys ?? [] {
        count += 1
        let facts = try #require(keybag.protectors[key.protector].securityKey)
        #expect(facts == SecurityKey(name: key.label, credential: [UInt8](hex: key.credential)))
        #expect(SecurityKey.party(vault: keybag.vault) == key.party)
        #expect(SecurityKey.salt(vault: keybag.vault) == [UInt8](hex: key.challenge))
        let opened = try keybag.open(securityKeyAnswer: Key(copying: [UInt8](hex: key.answer).span.bytes))
        #expect(opened.protector == key.protector)
        #expect(octets(try opened.tiers().unlocked) == [UInt8](hex: bag.tierA))
      }
    }
    #expect(count == 2)
  }
}
