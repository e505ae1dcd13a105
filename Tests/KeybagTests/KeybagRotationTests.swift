import LatchkeySodium
import Testing

@testable import LatchkeyKeybag

extension Keybag.Opened {
  /// New keys at the least cost.
  borrowing func rotated(with password: [UInt8]) throws(KeybagError) -> Keybag.Opened {
    try rotated(password: password.span.bytes, cost: cheap)
  }
}

@Suite("A keybag with new keys")
struct KeybagRotationTests {
  init() throws { try Sodium.initialize() }

  @Test("has another root key and newest tier keys, and the former ones for as long as they are needed")
  func rotated() throws {
    let created = try Keybag.create(with: password, cost: cheap)
    let next = try created.rotated(with: password)
    let read = try Keybag(decoding: next.keybag.encoded)
    #expect(read == next.keybag)
    #expect(read.generation == 2 && read.vault == created.keybag.vault && read.created == created.keybag.created)
    #expect(read.epochs.map(\.number) == [1, 2])
    #expect(read.protectors.count == 1 && read.protectors[0].id != created.keybag.protectors[0].id)

    let opened = try read.open(with: password)
    let before = try created.tiers()
    let after = try opened.tiers()
    let former = try opened.formerTiers()
    #expect(former.map(\.number) == [1])
    #expect(octets(former[0].tiers.unlocked) == octets(before.unlocked))
    #expect(octets(former[0].tiers.session) == octets(before.session))
    let keys = [octets(before.unlocked), octets(before.session), octets(after.unlocked), octets(after.session)]
    #expect(Set(keys).count == 4)
    #expect(try read.recognises(after) && read.recognises(former))
    #expect(try !read.recognises(before))
    #expect(try !read.recognises([] as [FormerTiers]) && !created.keybag.recognises(former))
    let another = FormerTiers(number: 2, tiers: try before.duplicate())
    #expect(try !read.recognises([another]))

    // The old keybag has the old root key, which opens nothing of the new keybag.
    #expect(read.epochs[0] != created.keybag.epochs[0])
    let settled = try #require(try opened.dropping(epochsBefore: 2, proving: false))
    #expect(settled.epochs.map(\.number) == [2] && settled.generation == 3)
    let last = try Keybag(decoding: settled.encoded).open(with: password)
    #expect(octets(try last.tiers().unlocked) == octets(after.unlocked))
    #expect(try last.formerTiers().isEmpty)
  }

  @Test("A keybag with new keys drops no needed generation and never the newest, and says if there is nothing to do")
  func dropping() throws {
    let opened = try Keybag.create(with: password, cost: cheap).rotated(with: password)
    #expect(try opened.dropping(epochsBefore: 1, proving: false) == nil)
    #expect(try opened.dropping(epochsBefore: 0, proving: false) == nil)
    #expect(try opened.dropping(epochsBefore: 3, proving: false) == nil)
    #expect(try opened.dropping(epochsBefore: 1, proving: true)?.protectors[0].state == .proven)
    #expect(try opened.dropping(epochsBefore: 2, proving: true)?.epochs.count == 1)
  }

  @Test("leaves no other password a way in")
  func passwords() throws {
    let vector = try #require(try Vectors().keybags.last)
    let keybag = try Keybag(decoding: [UInt8](hex: vector.file))
    let next = try keybag.open(with: Array("the new one".utf8))
      .rotated(with: Array("the new one".utf8)).keybag
    // The retiring password and the session's protector are gone. The recovery code stays.
    #expect(next.protectors.map(\.kind) == [.password, .recoveryCode])
    #expect(next.epochs.map(\.number) == [1, 2, 3])
    #expect(failure { () throws(KeybagError) in _ = try next.open(with: Array("the old one".utf8)) } == .wrongPassword)
    let code = try RecoveryCode(typed: Array(try #require(vector.codes?.first).code.utf8).span.bytes)
    let byPassword = try next.open(with: Array("the new one".utf8)).tiers()
    #expect(octets(try next.open(code: code).tiers().session) == octets(byPassword.session))
    #expect(octets(try next.open(code: code).formerTiers()[1].tiers.unlocked) == [UInt8](hex: vector.tierA))
  }

  @Test("A keybag with new keys keeps no recovery code from before the first password, except the one that opened")
  func firstPassword() throws {
    let vault = Sodium.randomBytes(16)
    let wrapping = try #require(
      DeviceSecret.Wrapping(identity: Sodium.randomBytes(16), wrapped: Sodium.randomBytes(72)))
    func secret() throws -> DeviceSecret {
      DeviceSecret(protector: Sodium.randomBytes(16), wrapping: wrapping, key: try .random())
    }
    let mine = try RecoveryCode.random()
    let planted = try RecoveryCode.random()
    // Anybody at such a login can create a code with `latchkey recovery create`, without any proof.
    let created = try Keybag.create(vault: vault, device: try secret())
    let open = try created.settingRecoveryCode(planted).open(code: planted).rotated(device: try secret())
    #expect(open.keybag.protectors.map(\.kind) == [.device, .recoveryCode])
    let byCode = try open.keybag.open(code: planted).rotated(with: password).keybag
    #expect(byCode.protectors.map(\.kind) == [.password, .recoveryCode])
    let bySame = octets(try byCode.open(code: planted).tiers().session)
    #expect(try bySame == octets(byCode.open(with: password).tiers().session))

    let next = try open.rotated(with: password)
    #expect(next.keybag.protectors.map(\.kind) == [.password])
    #expect(failure { () throws(KeybagError) in _ = try next.keybag.open(code: planted) } == .wrongPassword)
    // With a password, a code stays as always.
    let later = try next.keybag.open(with: password).settingRecoveryCode(mine).open(with: password)
    #expect(try later.rotated(with: password).keybag.open(code: mine).keybag.epochs.count == 4)
  }

  @Test("A keybag with new keys is refused if too many former keys are still needed")
  func limit() throws {
    var opened = try Keybag.create(with: password, cost: cheap)
    for number in 2...UInt32(Keybag.epochLimit) {
      opened = try opened.rotated(with: password)
      #expect(opened.keybag.epoch.number == number)
    }
    let full = opened.keybag
    #expect(try Keybag(decoding: full.encoded) == full)
    let seen = failure { () throws(KeybagError) in
      _ = try full.open(with: password).rotated(with: password)
    }
    #expect(seen == .tooManyEpochs)
    #expect(try full.open(with: password).dropping(epochsBefore: 8, proving: false)?.epochs.map(\.number) == [8])
  }

  @Test("A keybag with generations out of order is refused when it is read")
  func order() throws {
    let keybag = try Keybag.create(with: password, cost: cheap).rotated(with: password).keybag
    let file = keybag.encoded
    for (first, second) in [(2, 2), (2, 1), (0, 2), (1, 1)] as [(UInt32, UInt32)] {
      let changed = file.with(number: first, at: Offset.epoch).with(number: second, at: Offset.epoch + 212)
      #expect(failure { () throws(KeybagError) in _ = try Keybag(decoding: changed.resummed) } == .unreasonable)
    }
  }
}
