import LatchkeySodium
import Testing

@testable import LatchkeyKeybag

@Suite("A keybag whose password changes")
struct PasswordChangeTests {
  private let old = Array("the old one".utf8)
  private let new = Array("the new one".utf8)
  private let third = Array("a third".utf8)
  private let day: UInt64 = 86400
  private let start: UInt64 = 1_800_000_000

  init() throws { try Sodium.initialize() }

  /// A keybag whose old password a second login has proven.
  private func proven() throws -> Keybag { try Keybag.create(with: old, cost: cheap).proving() }

  private func fresh() throws -> Keybag { try Keybag.create(with: old, cost: cheap).keybag }

  private func added(_ password: [UInt8], to keybag: Keybag, by opener: [UInt8]) throws -> Keybag {
    try #require(
      try keybag.open(with: opener).addingPassword(password.span.bytes, cost: cheap, now: start))
  }

  private func opens(_ keybag: Keybag, _ passwords: [UInt8]...) -> [Bool] {
    passwords.map { password in
      failure { () throws(KeybagError) in _ = try keybag.open(with: password).tiers() } == nil
    }
  }

  /// The keybag after a login with the password.
  private func login(_ password: [UInt8], _ keybag: Keybag, days: UInt64 = 0) throws -> Keybag {
    let opened = try keybag.open(with: password)
    guard let next = try opened.dropping(epochsBefore: 0, proving: true, now: start + days * day) else { return keybag }
    return try Keybag(decoding: next.encoded)
  }

  @Test("A changed keybag opens with both passwords, to the same keys, one generation later, and changes nothing else")
  func both() throws {
    let before = try proven()
    let after = try Keybag(decoding: try added(new, to: before, by: old).encoded)
    #expect(after.generation == before.generation + 1 && after.vault == before.vault && after.epochs == before.epochs)
    #expect(after.protectors.map(\.state) == [.unproven, .proven])
    #expect(after.protectors[1] == before.protectors[0])
    #expect(after.protectors[0].salt != before.protectors[0].salt)
    #expect(after.protectors[0].retireAfter == start + 7 * day && before.protectors[0].retireAfter == 0)
    let byOld = try after.open(with: old).tiers()
    let byNew = try after.open(with: new).tiers()
    #expect(octets(byOld.unlocked) == octets(byNew.unlocked))
    #expect(opens(after, old, new, third) == [true, true, false])
  }

  @Test("A keybag whose password changes needs no new protector if the proven password is chosen again")
  func already() throws {
    let keybag = try added(new, to: try proven(), by: old)
    #expect(try keybag.open(with: new).addingPassword(old.span.bytes, cost: cheap) == nil)
    #expect(try keybag.open(with: old).addingPassword(third.span.bytes, opensNothing: true, cost: cheap) != nil)
  }

  @Test("a new password that was never used and is chosen again comes to the front, and its week begins again")
  func again() throws {
    let keybag = try added(third, to: try added(new, to: try proven(), by: old), by: old)
    let opened = try keybag.open(with: old)
    let next = try #require(try opened.addingPassword(new.span.bytes, cost: cheap, now: start + 6 * day))
    #expect(next.generation == keybag.generation + 1 && next.passwordCount == 3)
    #expect(next.protectors.map(\.id) == [1, 0, 2].map { keybag.protectors[$0].id })
    #expect(next.protectors.map(\.retireAfter) == [start + 13 * day, start + 7 * day, 0])
    #expect(opens(try login(old, next, days: 7), old, new, third) == [true, true, false])
    #expect(opens(try login(new, next), old, new, third) == [false, true, false])
  }

  @Test("a new password that was never used and is set again from outside comes to the front as well")
  func renewed() throws {
    let keybag = try added(third, to: try added(new, to: try proven(), by: old), by: old)
    let next = try #require(try keybag.open(with: new).renewing(now: start + 6 * day))
    #expect(next.protectors.map(\.id) == [1, 0, 2].map { keybag.protectors[$0].id })
    #expect(next.protectors.map(\.retireAfter) == [start + 13 * day, start + 7 * day, 0])
    let (proven, creating) = (try keybag.open(with: old).renewing(), try fresh().open(with: old).renewing())
    #expect(proven == nil && creating == nil)
  }

  @Test("a login with an unproven password less than a day old ends no other password")
  func young() throws {
    let keybag = try added(new, to: try proven(), by: old)
    let made = keybag.protectors[0].created
    #expect(try mayEnd(keybag, by: new, at: made) == false && mayEnd(keybag, by: new, at: made + day - 1) == false)
    #expect(try mayEnd(keybag, by: new, at: made + day))
    #expect(try mayEnd(keybag, by: old, at: made))
    #expect(try mayEnd(try fresh(), by: old, at: made))
    #expect(try mayEnd(try login(new, keybag), by: new, at: made))
  }

  private func mayEnd(_ keybag: Keybag, by password: [UInt8], at now: UInt64) throws -> Bool {
    try keybag.open(with: password).mayEndOthers(now: now)
  }

  @Test("a password is first tried on the proven protector, which costs the refused ones no time")
  func order() throws {
    let keybag = try added(new, to: try proven(), by: old)
    let costly = try keybag.open(with: old).next { keybag in
      let refused = keybag.protectors[0]
      keybag.protectors[0] = Protector(
        kind: .password, state: .unproven, id: refused.id, created: refused.created, retireAfter: refused.retireAfter,
        salt: refused.salt, cost: PasswordCost(passes: 11, memory: 1 << 40), commitment: refused.commitment,
        sealed: refused.sealed)
    }
    #expect(opens(costly, old) == [true])
    #expect(try costly.open(with: old).protector == 1)
    #expect(failure { () throws(KeybagError) in _ = try costly.open(with: new) } == .unreasonable)
  }

  @Test("A changed keybag accepts another process's change without the password, unless the change has other keys")
  func reopening() throws {
    let keybag = try proven()
    let opened = try keybag.open(with: old)
    let made = try added(new, to: keybag, by: old).protectors[0]
    let other = try opened.settingRecoveryCode(try RecoveryCode.random())
    guard let again = try opened.reopening(other) else {
      Issue.record("not reopened")
      return
    }
    let next = try Keybag(decoding: try again.adding(made).encoded)
    #expect(next.generation == keybag.generation + 2)
    #expect(next.protectors.map(\.kind) == [.password, .password, .recoveryCode])
    #expect(opens(next, old, new) == [true, true])
    func isReopened(_ other: Keybag) throws -> Bool {
      if let _ = try opened.reopening(other) { return true }
      return false
    }
    #expect(try !isReopened(try opened.rotated(password: old.span.bytes, cost: cheap).keybag))
    #expect(try !isReopened(try opened.settingPassword(old.span.bytes, cost: cheap)))
    #expect(try !isReopened(try Keybag.create(with: old, cost: cheap).keybag))
    let file = other.encoded
    let altered = try Keybag(decoding: file.with(file[Offset.state] ^ 1, at: Offset.state).resummed)
    #expect(try !isReopened(altered))
  }

  @Test("A keybag with more than four passwords is invalid")
  func many() throws {
    let opened = try proven().open(with: old)
    for count in [4, 5] {
      let keybag = try opened.next { keybag in
        keybag.protectors = Array(repeating: keybag.protectors[0], count: count)
      }
      let seen = failure { () throws(KeybagError) in _ = try Keybag(decoding: keybag.encoded) }
      #expect(seen == (count == 4 ? nil : .unreasonable))
    }
  }

  @Test("loses the old one at the first login with the new one, however late")
  func proving() throws {
    let keybag = try added(new, to: try proven(), by: old)
    for days in [0, 8, 5000] as [UInt64] {
      let after = try login(new, keybag, days: days)
      #expect(after.protectors.map(\.state) == [.proven] && after.protectors[0].retireAfter == 0)
      #expect(opens(after, old, new) == [false, true])
      #expect(after.generation == keybag.generation + 1)
    }
    // An authentication that proves nothing changes nothing.
    #expect(try keybag.open(with: new).dropping(epochsBefore: 0, proving: false) == nil)
  }

  @Test("A changed keybag keeps both passwords for a week if the old one is still used, and then only the old one")
  func refused() throws {
    let keybag = try added(new, to: try proven(), by: old)
    for days in [0, 6] as [UInt64] {
      #expect(try login(old, keybag, days: days) == keybag)
    }
    let after = try login(old, keybag, days: 7)
    #expect(after.protectors.map(\.state) == [.proven])
    #expect(opens(after, old, new) == [true, false])
  }

  @Test("a first password that was used only once is proven by its use, and never expires")
  func created() throws {
    let created = try Keybag.create(with: old, cost: cheap).keybag
    let keybag = try added(new, to: created, by: old)
    #expect(keybag.protectors.map(\.state) == [.unproven, .unproven])
    #expect(try login(old, keybag).protectors.map(\.state) == [.unproven, .proven])
    #expect(opens(try login(new, keybag, days: 5000), old, new) == [false, true])
    // The newer password has no time limit, so it cannot have missed a limit.
    #expect(opens(try login(old, keybag, days: 5000), old, new) == [true, false])
  }

  @Test("after two changes without a login, each login leaves the passwords that the system may still accept")
  func twice() throws {
    let keybag = try added(third, to: try added(new, to: try proven(), by: old), by: new)
    #expect(keybag.protectors.map(\.state) == [.unproven, .unproven, .proven])
    #expect(opens(try login(third, keybag), old, new, third) == [false, false, true])
    #expect(opens(try login(new, keybag), old, new, third) == [false, true, true])
    #expect(opens(try login(new, keybag, days: 7), old, new, third) == [false, true, false])
    #expect(opens(try login(old, keybag), old, new, third) == [true, true, true])
    #expect(opens(try login(old, keybag, days: 7), old, new, third) == [true, false, false])
  }

  @Test("A keybag has at most four passwords; the oldest unused one goes first, and never the one that opened")
  func four() throws {
    let names = (0..<6).map { Array("number \($0)".utf8) }
    var keybag = try Keybag.create(with: names[0], cost: cheap).proving()
    for number in 1...3 { keybag = try added(names[number], to: keybag, by: names[number - 1]) }
    #expect(keybag.passwordCount == 4)
    let next = try added(names[4], to: keybag, by: names[3])
    #expect(names.map { opens(next, $0)[0] } == [true, false, true, true, true, false])
    // The system refused changes 2 and 3 and still has password 1, which must stay.
    let other = try added(names[4], to: keybag, by: names[1])
    #expect(names.map { opens(other, $0)[0] } == [true, true, false, true, true, false])
    let last = try added(names[5], to: next, by: names[0])
    #expect(names.map { opens(last, $0)[0] } == [true, false, false, true, true, true])
  }

  @Test("A changed password leaves recovery codes alone, and a login by a code proves no password")
  func codes() throws {
    let code = try RecoveryCode.random()
    let withCode = try proven().open(with: old).settingRecoveryCode(code)
    let keybag = try added(new, to: withCode, by: old)
    #expect(keybag.protectors.map(\.kind) == [.password, .password, .recoveryCode])
    #expect(try login(new, keybag).protectors.map(\.kind) == [.password, .recoveryCode])
    #expect(try keybag.open(code: code).dropping(epochsBefore: 0, proving: true) == nil)
    let set = try keybag.open(code: code).settingPassword(third.span.bytes, cost: cheap)
    #expect(opens(set, old, new, third) == [false, false, true])
    #expect(failure { () throws(KeybagError) in _ = try set.open(code: code) } == nil)
  }

  @Test("A keybag whose password changes is never written larger than a reader accepts")
  func full() throws {
    let opened = try proven().open(with: old)
    let made = try opened.settingRecoveryCode(try RecoveryCode.random()).protectors[1]
    let full = try opened.next { keybag in
      keybag.protectors += Array(repeating: made, count: Keybag.protectorLimit - 1)
    }
    let seen = failure { () throws(KeybagError) in
      _ = try full.open(with: old).addingPassword(new.span.bytes, cost: cheap)
    }
    #expect(seen == .unreasonable)
  }

  @Test("a changed state or time of a protector is detected")
  func altered() throws {
    let file = try added(new, to: try proven(), by: old).encoded
    // The state and time of the first protector, and the state of the second.
    for offset in [Offset.state, 71, Offset.state + 168] {
      let changed = try Keybag(decoding: file.with(file[offset] ^ 1, at: offset).resummed)
      for password in [old, new] {
        #expect(failure { () throws(KeybagError) in _ = try changed.open(with: password) } == .damaged)
      }
    }
  }
}
