import LatchkeyBytes
import LatchkeySodium
import Testing

@testable import LatchkeyKeybag

@Suite("A recovery code")
struct RecoveryCodeTests {
  init() throws { try Sodium.initialize() }

  private func mistake(_ text: String) -> RecoveryCode.Mistake? {
    do throws(RecoveryCode.Mistake) {
      _ = try RecoveryCode(typed: Array(text.utf8).span.bytes)
      return nil
    } catch { return error }
  }

  private func newText() throws -> String { String(decoding: octets(try RecoveryCode.random().text()), as: UTF8.self) }

  @Test("A recovery code is seven groups of five readable characters, never the same twice")
  func shape() throws {
    let texts = try (0..<50).map { _ in try newText() }
    #expect(Set(texts).count == texts.count)
    for text in texts {
      let groups = text.split(separator: "-")
      #expect(groups.count == 7 && groups.allSatisfy { $0.count == 5 })
      #expect(!text.contains { "ILOU".contains($0) } && text == text.uppercased())
      #expect(mistake(text) == nil)
    }
  }

  @Test("A recovery code is read as people type it")
  func typed() throws {
    let text = try newText()
    let letters = text.filter { $0 != "-" }
    let alike = String(letters.map { $0 == "0" ? "o" : $0 == "1" ? "L" : $0 })
    for typed in [text.lowercased(), letters, " \(text) ", text.replacing("-", with: " "), alike] {
      let code = try RecoveryCode(typed: Array(typed.utf8).span.bytes)
      #expect(octets(try code.text()) == Array(text.utf8))
    }
  }

  @Test("A recovery code with one wrong character, or two exchanged neighbours, names the group")
  func mistakes() throws {
    let text = Array(try newText())
    for place in text.indices where text[place] != "-" {
      let group = place / 6 + 1
      for other in "0123456789ABCDEFGHJKMNPQRSTVWXYZ" where other != text[place] {
        var wrong = text
        wrong[place] = other
        #expect(mistake(String(wrong)) == .group(group))
      }
      var wrong = text
      wrong[place] = "U"
      #expect(mistake(String(wrong)) == .character(group: group))
      wrong[place] = "é"
      #expect(mistake(String(wrong)) == .character(group: group))
      if place % 6 < 4, text[place] != text[place + 1] {
        wrong = text
        wrong.swapAt(place, place + 1)
        #expect(mistake(String(wrong)) == .group(group))
      }
      wrong = text
      wrong.remove(at: place)
      #expect(mistake(String(wrong)) == .length(34))
    }
    #expect(mistake("") == .length(0))
    #expect(mistake(String(text) + "0") == .length(36))
    let groups = String(text).split(separator: "-").map(String.init)
    #expect(mistake((groups[1...] + groups[..<1]).joined(separator: "-")) != nil)
  }

  @Test("A recovery code whose groups are each valid but from different codes is reported")
  func mixed() throws {
    let first = try newText().split(separator: "-")
    var found = 0
    for _ in 0..<20 {
      let second = try newText().split(separator: "-")
      if mistake((first[..<3] + second[3...]).joined(separator: "-")) == .whole { found += 1 }
    }
    #expect(found >= 18)
  }

  @Test("A recovery code opens the keybag that it was made for, next to the password, and no other")
  func opens() throws {
    let opened = try Keybag.create(with: password, cost: cheap)
    let code = try RecoveryCode.random()
    let keybag = try Keybag(decoding: try opened.settingRecoveryCode(code).encoded)
    #expect(keybag.protectors.map(\.kind) == [.password, .recoveryCode] && keybag.generation == 2)
    #expect(keybag.recoveryCodeCreated != nil && opened.keybag.recoveryCodeCreated == nil)
    let tiers = octets(try opened.tiers().unlocked)
    #expect(octets(try keybag.open(code: code).tiers().unlocked) == tiers)
    #expect(octets(try keybag.open(with: password).tiers().unlocked) == tiers)
    let stranger = try RecoveryCode.random()
    #expect(refusal(keybag, stranger) == .wrongPassword)
    let other = try Keybag.create(with: password, cost: cheap).settingRecoveryCode(try .random())
    #expect(refusal(other, code) == .wrongPassword)

    // A new code replaces the former code. Without a code in the keybag, no code opens.
    let second = try RecoveryCode.random()
    let replaced = try keybag.open(with: password).settingRecoveryCode(second)
    #expect(replaced.protectors.count == 2 && refusal(replaced, code) == .wrongPassword)
    #expect(refusal(replaced, second) == nil)
    let removed = try #require(try replaced.open(with: password).removingRecoveryCode())
    #expect(refusal(removed, second) == .wrongPassword)
    #expect(try removed.open(with: password).removingRecoveryCode() == nil)
  }

  private func refusal(_ keybag: Keybag, _ code: borrowing RecoveryCode) -> KeybagError? {
    do throws(KeybagError) {
      _ = try keybag.open(code: code).tiers()
      return nil
    } catch { return error }
  }

  @Test("A recovery code gives the vault another password, after which the old one opens nothing")
  func recovers() throws {
    let code = try RecoveryCode.random()
    let keybag = try Keybag.create(with: password, cost: cheap).settingRecoveryCode(code)
    let new = Array("another".utf8)
    let next = try keybag.open(code: code).settingPassword(new.span.bytes, cost: cheap)
    #expect(next.protectors.map(\.kind) == [.password, .recoveryCode] && next.protectors[0].state == .proven)
    #expect(failure { () throws(KeybagError) in _ = try next.open(with: password) } == .wrongPassword)
    #expect(octets(try next.open(with: new).tiers().session) == octets(try keybag.open(code: code).tiers().session))
    #expect(refusal(next, code) == nil)
  }

  @Test("opens no keybag that somebody made who knows nothing but its public key, before new keys or after")
  func forged() throws {
    let code = try RecoveryCode.random()
    let opened = try Keybag.create(with: password, cost: cheap)
    let keybag = try opened.settingRecoveryCode(code)
    let rotated = try keybag.open(with: password).rotated(with: password).keybag
    for genuine in [keybag, rotated] {
      #expect(refusal(genuine, code) == nil)
      #expect(refusal(try Keybag(decoding: try forged(genuine)), code) == .damaged)
    }
  }

  /// A keybag with the code's protector of `genuine`, but with an attacker's root key and tier keys.
  private func forged(_ genuine: Keybag) throws -> [UInt8] {
    let file = genuine.encoded
    let root = try Key.random()
    let start = Offset.epochCount + 96
    let end = start + genuine.protectors[1].sealed.count
    let box = try SealedBox.seal(root.bytes, to: Array(file[start..<(start + 32)]))
    var out = ByteWriter()
    out.put(Array(file[..<(start + 32)]) + box + Array(file[(start + 112)..<end]))
    out.number(UInt8(1))
    try TierEpoch(number: 1, tiers: .random(), root: root, vault: genuine.vault).encode(into: &out)
    let signed = out.bytes + (try root.tag(.keybagTag, [out.bytes]))
    return signed + Sodium.checksum(signed.span.bytes)
  }

  @Test("A code whose protector was altered opens nothing: limits are checked first, and the tag covers the rest")
  func hostile() throws {
    let code = try RecoveryCode.random()
    let file = try Keybag.create(with: password, cost: cheap).settingRecoveryCode(code).encoded
    // The fields after the password's protector: kind, state, id, dates, salt, cost, commitment, length, sealed.
    let start = Offset.epochCount
    #expect(file[start] == 2)
    for offset in start..<(start + 96 + 216) {
      let changed = file.with(file[offset] ^ 0x01, at: offset).resummed
      let seen = failure { () throws(KeybagError) in
        let keybag = try Keybag(decoding: changed)
        _ = try keybag.open(code: code)
      }
      #expect(seen != nil, "offset \(offset - start)")
    }
    let (passes, length) = (start + 50, start + 94)
    for changed in [
      file.with(number: UInt32(3), at: passes), file.with(number: UInt64(32 << 20), at: passes + 4),
      file.with(number: UInt16(215), at: length), file.with(number: UInt16(112), at: length),
    ] {
      #expect(failure { () throws(KeybagError) in _ = try Keybag(decoding: changed.resummed) } == .unreasonable)
    }
  }
}
