import Foundation
import LatchkeySodium
import Testing

@testable import LatchkeyKeybag

/// A secret as a device key would have wrapped it.
private func newSecret() throws -> DeviceSecret {
  let wrapping = try #require(
    DeviceSecret.Wrapping(identity: Sodium.randomBytes(16), wrapped: Sodium.randomBytes(72)))
  return DeviceSecret(protector: Sodium.randomBytes(16), wrapping: wrapping, key: try .random())
}

@Suite("A keybag that a login without a password opens in part")
final class SessionProtectorTests {
  /// The positions of the fields in a keybag with a password, such a protector, and one epoch.
  private enum Place {
    static let protector = Offset.epochCount..<(Offset.epochCount + 96 + 148)
    static let kind = protector.lowerBound
    static let state = kind + 1
    static let id = kind + 2
    static let created = kind + 18
    static let salt = kind + 34
    static let passes = kind + 50
    static let commitment = kind + 62
    static let length = kind + 94
    static let wrapped = kind + 96
    static let epochNumber = wrapped + 72
    static let key = epochNumber + 4
    static let epochs = protector.upperBound
    static let sessionCommitment = epochs + 1 + 4 + 72 + 72 + 32
  }

  private let secret: DeviceSecret
  private let created: Keybag.Opened
  private let file: [UInt8]

  init() throws {
    try Sodium.initialize()
    secret = try newSecret()
    created = try Keybag.create(with: password, cost: cheap)
    file = try created.settingSession(secret).encoded
  }

  /// The error of reading the keybag or of opening it with the secret; nil if it opens.
  private func fate(_ file: [UInt8], _ key: borrowing Key) -> KeybagError? {
    do throws(KeybagError) {
      _ = try Keybag(decoding: file).open(sessionSecret: key)
      return nil
    } catch { return error }
  }

  private func decoding(_ file: [UInt8]) -> KeybagError? {
    failure { () throws(KeybagError) in _ = try Keybag(decoding: file) }
  }

  private func opens(_ keybag: Keybag, _ password: [UInt8]) -> Bool {
    failure { () throws(KeybagError) in _ = try keybag.open(with: password).tiers() } == nil
  }

  @Test("Added, written, read, opened: tier key C and nothing else")
  func roundTrip() throws {
    let read = try Keybag(decoding: file)
    #expect(read.encoded == file && file.count == Offset.end + Place.protector.count)
    #expect(read.generation == 2 && read.protectors.map(\.kind) == [.password, .session] && !read.isPasswordless)
    let protector = try #require(read.sessionProtector)
    #expect(protector.state == .proven && protector.id == secret.protector)
    #expect(protector.deviceWrapping == secret.wrapping && read.deviceProtector == nil)
    let opened = try read.open(sessionSecret: secret.key)
    let tiers = try created.tiers()
    #expect(opened.epoch == 1 && octets(opened.key) == octets(tiers.session))
    #expect(try read.recognises(opened))
    #expect(opens(read, password))
    for secret in [octets(secret.key), octets(tiers.unlocked), octets(tiers.session)] {
      #expect(Data(file).range(of: Data(secret)) == nil)
    }
    #expect(created.keybag.sessionProtector == nil)
    #expect(fate(created.keybag.encoded, secret.key) == .damaged)
  }

  @Test("Its secret is no password and no device key's, and all that depends on it is tier key C")
  func onlyC() throws {
    let keybag = try Keybag(decoding: file)
    #expect(failure { () throws(KeybagError) in _ = try keybag.open(with: octets(secret.key)) } == .wrongPassword)
    func refusal(_ key: borrowing Key) -> KeybagError? {
      do throws(KeybagError) {
        _ = try keybag.open(deviceSecret: key)
        return nil
      } catch { return error }
    }
    #expect(refusal(secret.key) == .wrongPassword)
    let wrap = try secret.key.derive(.sessionWrap, [keybag.vault, secret.protector])
    let associated =
      file[Offset.version..<Offset.generation] + secret.protector + [3] + secret.wrapping.identity
      + [UInt8](repeating: 0, count: 12) + [1, 0, 0, 0] + file[Place.sessionCommitment..<(Place.sessionCommitment + 32)]
    let plain = try AEAD.open(
      Array(file[Place.key..<Place.epochs]).span.bytes, key: wrap, associated: Array(associated))
    #expect(octets(plain) == octets(try created.tiers().session))
  }

  @Test("No other secret opens the keybag")
  func wrong() throws {
    #expect(fate(file, try .random()) == .damaged)
    let other = try newSecret()
    #expect(fate(file, other.key) == .damaged)
    #expect(fate(try created.settingSession(other).encoded, secret.key) == .damaged)
    let vector = try #require(try Vectors().keybags.first)
    #expect(fate([UInt8](hex: vector.file), secret.key) == .damaged)
  }

  // Only the root key can check the tag over the keybag, and this login lacks the root key. So everything that matters must be
  // bound in another way.
  @Test("A byte changed, with the right check sum: it does not open, or it opens as the same")
  func everyByte() throws {
    #expect(fate(file, secret.key) == nil)
    let expected = octets(try created.tiers().session)
    // These fields do not affect the key: the generation and date of the keybag; the password's protector; the state and date of
    // this protector; the wrapped secret, which has been unwrapped already; the sealed tiers with A's commitment; and the tag.
    let free: [Range<Int>] = [
      28..<44, Offset.state..<Offset.epochCount, Place.state..<Place.id, Place.created..<Place.salt,
      Place.wrapped..<Place.epochNumber, (Place.epochs + 5)..<Place.sessionCommitment,
      (Place.sessionCommitment + 32)..<(Place.sessionCommitment + 64),
    ]
    for offset in file.indices.dropLast(32) {
      for bit in [0x01, 0x80] as [UInt8] {
        let changed = file.with(file[offset] ^ bit, at: offset)
        #expect(decoding(changed) == (offset < Offset.version ? .foreign : .damaged), "offset \(offset)")
        let resummed = changed.resummed
        guard fate(resummed, secret.key) == nil else { continue }
        #expect(free.contains { $0.contains(offset) }, "offset \(offset)")
        #expect(octets(try Keybag(decoding: resummed).open(sessionSecret: secret.key).key) == expected)
        // An unlock with the password notices the change.
        guard bit == 1, offset.isMultiple(of: 16) else { continue }
        #expect(!opens(try Keybag(decoding: resummed), password), "offset \(offset)")
      }
    }
  }

  @Test("A session protector is bound to vault, name, device, generation and its commitment", arguments: 0..<5)
  func binding(_ part: Int) throws {
    let range = [
      Offset.vault..<Offset.generation, Place.id..<Place.created, Place.salt..<Place.passes,
      Place.epochNumber..<Place.key, Place.sessionCommitment..<(Place.sessionCommitment + 32),
    ][part]
    for offset in range {
      let seen = fate(file.with(file[offset] ^ 4, at: offset).resummed, secret.key)
      #expect(seen == .damaged, "offset \(offset)")
    }
    // The number in the protector and the number of the epoch change together.
    guard part == 3 else { return }
    let both = file.with(number: UInt32(2), at: Place.epochNumber).with(number: UInt32(2), at: Place.epochs + 1)
    #expect(fate(both.resummed, secret.key) == .damaged)
  }

  @Test("A protector from another keybag does not open, even among tier keys whose commitment was forged")
  func transplant() throws {
    let other = try Keybag.create(with: password, cost: cheap)
    let target = try other.settingSession(try newSecret()).encoded
    let mixed = Array(target[..<Place.protector.lowerBound] + file[Place.protector] + target[Place.epochs...])
    #expect(fate(mixed.resummed, secret.key) == .damaged)
    // The same vault, with another key epoch in place of its own.
    let foreign = Array(file[..<(Place.epochs + 5)] + target[(Place.epochs + 5)...])
    #expect(fate(foreign.resummed, secret.key) == .damaged)
    // A commitment to a key that the attacker knows.
    let mine = try Key.random()
    let commitment = try mine.tag(.tierCommitment, [created.keybag.vault])
    var forged = file
    forged.replaceSubrange(Place.sessionCommitment..<(Place.sessionCommitment + 32), with: commitment)
    #expect(fate(forged.resummed, secret.key) == .damaged)
  }

  @Test("An older protector next to newer keys opens nothing, and the newest generation cannot be removed")
  func generations() throws {
    let rotated = try Keybag(decoding: file).open(with: password).rotated(with: password)
    #expect(rotated.keybag.sessionProtector == nil && fate(rotated.keybag.encoded, secret.key) == .damaged)
    let next = try newSecret()
    let carried = try rotated.carryingSession(next)
    #expect(carried.keybag.generation == rotated.keybag.generation)
    let read = try Keybag(decoding: carried.keybag.encoded)
    #expect(read.protectors.map(\.kind) == [.password, .session] && opens(read, password))
    let opened = try read.open(sessionSecret: next.key)
    #expect(opened.epoch == 2)
    #expect(octets(opened.key) == octets(try carried.tiers().session))
    #expect(octets(opened.key) != octets(try created.tiers().session))
    #expect(try read.recognises(opened) && !Keybag(decoding: file).recognises(opened))

    // The old protector replaces the new protector, or one epoch is removed, or both epochs are exchanged.
    let new = read.encoded
    let old = Array(new[..<Place.protector.lowerBound] + file[Place.protector] + new[Place.epochs...])
    #expect(fate(old.resummed, secret.key) == .damaged)
    let (first, second) = (Place.epochs + 1, Place.epochs + 1 + 212)
    let cut = Array(new[..<second] + new[(second + 212)...]).with(1, at: Place.epochs)
    #expect(fate(cut.resummed, next.key) == .damaged)
    let exchanged = Array(new[..<first] + new[second..<(second + 212)] + new[first..<second] + new[(second + 212)...])
    #expect(decoding(exchanged.resummed) == .unreasonable)
    let settled = try #require(try carried.dropping(epochsBefore: 2, proving: false))
    #expect(try octets(settled.open(sessionSecret: next.key).key) == octets(opened.key))
  }

  @Test("Impossible lengths and costs are refused when the keybag is read")
  func hostile() {
    for length in [0, 72, 144, 147, 149, 216, 512, 513, .max] as [UInt16] {
      let seen = decoding(file.with(number: length, at: Place.length).resummed)
      #expect(seen == .unreasonable || (length > 148 && seen == .truncated), "\(length) bytes")
    }
    for (passes, memory) in [(3, 0), (0, 32 << 20), (3, 32 << 20), (.max, .max)] as [(UInt32, UInt64)] {
      let changed = file.with(number: passes, at: Place.passes).with(number: memory, at: Place.passes + 4)
      #expect(decoding(changed.resummed) == .unreasonable)
    }
    for kind in [0, 1, 2, 4, 5, .max] as [UInt8] {
      #expect(decoding(file.with(kind, at: Place.kind).resummed) == .unreasonable, "kind \(kind)")
    }
    for count in 0..<file.count where count > 40 { #expect(decoding(Array(file.prefix(count)).resummed) != nil) }
  }

  @Test("Two such protectors, or one next to a device's, are refused when the keybag is read")
  func atMostOne() throws {
    let twice = Array(
      file[..<Offset.epochCount] + file[Place.protector] + file[Place.protector] + file[Place.epochs...])
    #expect(decoding(twice.with(3, at: Offset.protectorCount).resummed) == .unreasonable)
    let device = try Keybag.create(vault: Sodium.randomBytes(16), device: try newSecret()).keybag.encoded
    let end = Offset.protectorCount + 1 + 96 + 144
    let beside = Array(device[..<end] + file[Place.protector] + device[end...])
    #expect(decoding(beside.with(2, at: Offset.protectorCount).resummed) == .unreasonable)
    let alone = Array(device[..<(Offset.protectorCount + 1)] + file[Place.protector] + device[end...])
    #expect(decoding(alone.resummed) == nil)
  }

  @Test("There is at most one such protector; a new password keeps it, and only a removal ends it")
  func life() throws {
    let opened = try Keybag(decoding: file).open(with: password)
    let second = try newSecret()
    let again = try opened.settingSession(second)
    #expect(again.protectors.map(\.kind) == [.password, .session] && again.generation == 3)
    #expect(fate(again.encoded, secret.key) == .damaged && fate(again.encoded, second.key) == nil)

    let code = try RecoveryCode.random()
    let coded = try again.open(with: password).settingRecoveryCode(code)
    let other = Array("another one".utf8)
    let changed = try coded.open(code: code).settingPassword(other.span.bytes, cost: cheap)
    #expect(fate(changed.encoded, second.key) == nil && opens(changed, other) && !opens(changed, password))
    #expect(try changed.open(with: other).removingRecoveryCode()?.sessionProtector?.id == second.protector)

    let removed = try #require(try changed.open(with: other).removingSession())
    // Somebody has the key itself. The key counts while the keybag has such a protector for its generation.
    let key = try changed.open(sessionSecret: second.key)
    #expect(try changed.recognises(key) && !removed.recognises(key))
    #expect(removed.sessionProtector == nil && removed.generation == changed.generation + 1 && opens(removed, other))
    #expect(fate(removed.encoded, second.key) == .damaged)
    #expect(try removed.open(with: other).removingSession() == nil)
    #expect(try opened.proving().sessionProtector?.id == secret.protector)
  }

  @Test("A vault without a password has no session protector, and a first password leaves no attacker's")
  func passwordless() throws {
    let device = try newSecret()
    let opened = try Keybag.create(vault: Sodium.randomBytes(16), device: device)
    let mine = try newSecret()
    func refusal() -> KeybagError? {
      do throws(KeybagError) {
        _ = try opened.settingSession(mine)
        return nil
      } catch { return error }
    }
    #expect(refusal() == .unreasonable)
    #expect(try Keybag(decoding: file).open(with: password).removingPassword(device).sessionProtector == nil)
    // The protector that somebody with the root key would make.
    var keybag = opened.keybag
    keybag.protectors.append(try #require(try Keybag(decoding: file).sessionProtector))
    try keybag.sign(root: opened.root)
    let crafted = try keybag.open(deviceSecret: try device.key.duplicate())
    let typed = password
    let first = try crafted.settingPassword(typed.span.bytes, cost: cheap)
    #expect(first.protectors.map(\.kind) == [.password])
    #expect(try crafted.rotated(with: password).keybag.protectors.map(\.kind) == [.password])
  }

  @Test("A full keybag gets no more protectors")
  func full() throws {
    var keybag = try Keybag(decoding: file).open(with: password).keybag
    let present = keybag.protectors
    while keybag.protectors.count < Keybag.protectorLimit { keybag.protectors.append(present[0]) }
    try keybag.sign(root: created.root)
    // A new protector replaces the former protector.
    #expect(try keybag.open(with: password).settingSession(secret).protectors.count == Keybag.protectorLimit)
    keybag.protectors.removeAll { $0.kind == .session }
    keybag.protectors.append(present[0])
    try keybag.sign(root: created.root)
    let opened = try keybag.open(with: password)
    func refusal() -> KeybagError? {
      do throws(KeybagError) {
        _ = try opened.settingSession(secret)
        return nil
      } catch { return error }
    }
    #expect(refusal() == .unreasonable)
  }
}
