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

extension DeviceSecret {
  /// The secret that the device key returned.
  fileprivate func givenBack() throws -> Key { try key.duplicate() }
}

@Suite("A keybag without a password")
final class DeviceProtectorTests {
  /// The positions in the file of the only protector, of which another keybag keeps nothing, and of the bytes after the protector.
  private static let protector = Offset.kind..<(Offset.sealed + 144)
  private static let end = Offset.end + 72

  private let vault: [UInt8]
  private let secret: DeviceSecret
  private let file: [UInt8]

  init() throws {
    try Sodium.initialize()
    vault = Sodium.randomBytes(16)
    secret = try newSecret()
    file = try Keybag.create(vault: vault, device: secret).keybag.encoded
  }

  /// The error of reading the keybag or of opening it with `key`; nil if it opens.
  private func fate(_ file: [UInt8], _ key: borrowing Key) -> KeybagError? {
    do throws(KeybagError) {
      _ = try Keybag(decoding: file).open(deviceSecret: key).tiers()
      return nil
    } catch { return error }
  }

  private func decoding(_ file: [UInt8]) -> KeybagError? {
    failure { () throws(KeybagError) in _ = try Keybag(decoding: file) }
  }

  private func refusal(_ keybag: Keybag, _ code: borrowing RecoveryCode) -> KeybagError? {
    do throws(KeybagError) {
      _ = try keybag.open(code: code).tiers()
      return nil
    } catch { return error }
  }

  @Test("A keybag that was written, read and opened has the same tier keys, and recognises them")
  func roundTrip() throws {
    let created = try Keybag.create(vault: vault, device: secret)
    let file = created.keybag.encoded
    #expect(file.count == Self.end && created.keybag.generation == 1 && created.keybag.vault == vault)
    let read = try Keybag(decoding: file)
    #expect(read == created.keybag && read.isPasswordless && read.epochs.map(\.number) == [1])
    let protector = try #require(read.deviceProtector)
    #expect(read.protectors == [protector] && protector.kind == .device && protector.state == .proven)
    #expect(protector.id == secret.protector && protector.deviceWrapping == secret.wrapping)

    let tiers = try created.tiers()
    let opened = try read.open(deviceSecret: try secret.givenBack())
    #expect(octets(try opened.tiers().unlocked) == octets(tiers.unlocked))
    #expect(octets(try opened.tiers().session) == octets(tiers.session))
    #expect(try read.recognises(try opened.tiers()))
    for secret in [octets(secret.key), octets(tiers.unlocked), octets(tiers.session)] {
      #expect(Data(file).range(of: Data(secret)) == nil)
    }
    #expect(try !Keybag.create(with: password, cost: cheap).keybag.isPasswordless)
  }

  @Test("No other secret, no password and no recovery code opens the keybag")
  func wrong() throws {
    let keybag = try Keybag(decoding: file)
    #expect(fate(file, try Key.random()) == .wrongPassword)
    let other = try newSecret()
    #expect(fate(file, other.key) == .wrongPassword)
    for typed in [[], password, octets(secret.key)] {
      #expect(failure { () throws(KeybagError) in _ = try keybag.open(with: typed) } == .wrongPassword)
    }
    #expect(refusal(keybag, try .random()) == .wrongPassword)
    #expect(fate(try Keybag.create(with: password, cost: cheap).keybag.encoded, secret.key) == .wrongPassword)
    #expect(fate(file, secret.key) == nil)
  }

  @Test("A byte changed anywhere, with the right check sum or without, never opens")
  func everyByte() {
    #expect(file.count == Self.end && fate(file, secret.key) == nil)
    for offset in file.indices {
      for bit in [0x01, 0x80] as [UInt8] {
        let changed = file.with(file[offset] ^ bit, at: offset)
        #expect(decoding(changed) == (offset < Offset.version ? .foreign : .damaged), "offset \(offset)")
        if offset < Self.end - 32 { #expect(fate(changed.resummed, secret.key) != nil, "offset \(offset)") }
      }
    }
    // The wrapped secret takes no part in opening the root key, but the tag covers it.
    for offset in [Offset.state, Offset.sealed, Offset.sealed + 71] {
      #expect(fate(file.with(file[offset] ^ 1, at: offset).resummed, secret.key) == .damaged)
    }
  }

  @Test("The protector of another vault does not open, even with the same secret and name")
  func transplant() throws {
    let other = try Keybag.create(vault: Sodium.randomBytes(16), device: secret).keybag.encoded
    let mixed = Array(file[..<Self.protector.lowerBound] + other[Self.protector] + file[Self.protector.upperBound...])
    #expect(fate(mixed.resummed, secret.key) == .wrongPassword)
    #expect(fate(other.with(number: UInt8(vault[0] &+ 1), at: Offset.vault).resummed, secret.key) == .wrongPassword)
    #expect(fate(other, secret.key) == nil)
    // A keybag for the same vault, with a root key and tier keys of an attacker who has neither key of the vault.
    let again = try Keybag.create(vault: vault, device: secret).keybag.encoded
    let stranger = Array(file[..<Self.protector.upperBound] + again[Self.protector.upperBound...])
    #expect(fate(stranger.resummed, secret.key) == .damaged)
  }

  @Test("Impossible lengths, costs and kinds are refused when the keybag is read")
  func hostile() throws {
    for length in [0, 71, 72, 143, 145, 216, 512, 513, .max] as [UInt16] {
      let seen = decoding(file.with(number: length, at: Offset.sealedLength).resummed)
      #expect(seen == .unreasonable || (length > 200 && seen == .truncated), "\(length) bytes")
    }
    for (passes, memory) in [(3, 0), (0, 32 << 20), (3, 32 << 20), (.max, .max)] as [(UInt32, UInt64)] {
      let changed = file.with(number: passes, at: Offset.passes).with(number: memory, at: Offset.memory)
      #expect(decoding(changed.resummed) == .unreasonable)
    }
    for kind in [0, 1, 2, 5, .max] as [UInt8] {
      #expect(decoding(file.with(kind, at: Offset.kind).resummed) == .unreasonable, "kind \(kind)")
    }
    // Nobody can change a protector of a password or a recovery code into a device's protector.
    let other = try Keybag.create(with: password, cost: cheap).settingRecoveryCode(try .random()).encoded
    for offset in [Offset.kind, Offset.epochCount] {
      #expect(decoding(other.with(4, at: offset).resummed) == .unreasonable)
    }
    for count in 0..<file.count where count > 40 { #expect(decoding(Array(file.prefix(count)).resummed) != nil) }
  }

  @Test("A wrapped secret has a fixed size, and is bound to the protector's name")
  func wrapping() {
    for (identity, wrapped) in [(0, 72), (15, 72), (17, 72), (16, 0), (16, 71), (16, 73)] {
      let bytes = [UInt8](repeating: 1, count: 80)
      #expect(
        DeviceSecret.Wrapping(identity: Array(bytes.prefix(identity)), wrapped: Array(bytes.prefix(wrapped))) == nil)
    }
    #expect(DeviceSecret.context(vault: vault, protector: secret.protector) == vault + secret.protector)
  }

  @Test("The first password of a keybag comes with new keys, after which the device's secret opens nothing")
  func firstPassword() throws {
    let code = try RecoveryCode.random()
    let coded = try Keybag.create(vault: vault, device: secret).settingRecoveryCode(code)
    #expect(coded.protectors.map(\.kind) == [.device, .recoveryCode] && refusal(coded, code) == nil)
    let opened = try coded.open(deviceSecret: try secret.givenBack())
    let before = octets(try opened.tiers().unlocked)
    let next = try Keybag(decoding: try opened.rotated(with: password).keybag.encoded)
    #expect(next.protectors.map(\.kind) == [.password] && !next.isPasswordless)
    #expect(next.protectors[0].state == .unproven && next.epochs.map(\.number) == [1, 2])
    #expect(next.generation == coded.generation + 1 && next.vault == vault && next.deviceProtector == nil)
    #expect(fate(next.encoded, secret.key) == .wrongPassword && refusal(next, code) == .wrongPassword)
    let settled = try next.open(with: password).settingRecoveryCode(code).open(with: password)
    #expect(octets(try settled.formerTiers()[0].tiers.unlocked) == before)
    #expect(octets(try settled.tiers().unlocked) != before)

    // The reverse: the login loses its password again, with new keys or with the same keys. The recovery code stays in every
    // keybag.
    let another = try newSecret()
    let removed = try Keybag(decoding: try settled.removingPassword(another).encoded)
    #expect(removed.protectors.map(\.kind) == [.device, .recoveryCode] && removed.epochs == next.epochs)
    #expect(removed.generation == next.generation + 2 && refusal(removed, code) == nil)
    #expect(failure { () throws(KeybagError) in _ = try removed.open(with: password) } == .wrongPassword)
    #expect(fate(removed.encoded, secret.key) == .wrongPassword && fate(removed.encoded, another.key) == nil)
    let same = octets(try removed.open(deviceSecret: try another.givenBack()).tiers().unlocked)
    #expect(same == octets(try settled.tiers().unlocked))
    let third = try newSecret()
    let rotated = try Keybag(decoding: try settled.rotated(device: third).keybag.encoded)
    #expect(rotated.protectors.map(\.kind) == [.device, .recoveryCode] && rotated.epochs.map(\.number) == [1, 2, 3])
    #expect(rotated.protectors[0].id == third.protector && refusal(rotated, code) == nil)
    #expect(fate(rotated.encoded, third.key) == nil && fate(rotated.encoded, another.key) == .wrongPassword)
  }

  @Test("A first password under the same keys also replaces the device, and every code except the one that opened")
  func sameKeys() throws {
    let code = try RecoveryCode.random()
    let coded = try Keybag.create(vault: vault, device: secret).settingRecoveryCode(code)
    let opened = try coded.open(deviceSecret: try secret.givenBack())
    let typed = password
    let next = try Keybag(decoding: try opened.settingPassword(typed.span.bytes, cost: cheap).encoded)
    #expect(next.protectors.map(\.kind) == [.password] && next.epochs == coded.epochs && !next.isPasswordless)
    #expect(fate(next.encoded, secret.key) == .wrongPassword && refusal(next, code) == .wrongPassword)
    #expect(octets(try next.open(with: password).tiers().unlocked) == octets(try opened.tiers().unlocked))

    let byCode = try coded.open(code: code).settingPassword(typed.span.bytes, cost: cheap)
    #expect(byCode.protectors.map(\.kind) == [.password, .recoveryCode] && refusal(byCode, code) == nil)
    #expect(fate(byCode.encoded, secret.key) == .wrongPassword)
    // Once there is a password, a code stays, whichever protector opened the keybag.
    let again = try byCode.open(with: password).settingPassword(typed.span.bytes, cost: cheap)
    #expect(again.protectors.map(\.kind) == [.password, .recoveryCode] && refusal(again, code) == nil)
  }

  @Test("Removing the password removes every password, and the session's protector")
  func removal() throws {
    let vector = try #require(try Vectors().keybags.last)
    let keybag = try Keybag(decoding: [UInt8](hex: vector.file))
    let removed = try keybag.open(with: Array("the new one".utf8)).removingPassword(secret)
    #expect(removed.protectors.map(\.kind) == [.device, .recoveryCode] && removed.vault == keybag.vault)
    for password in ["the old one", "the new one"] {
      let seen = failure { () throws(KeybagError) in _ = try removed.open(with: Array(password.utf8)) }
      #expect(seen == .wrongPassword)
    }
    let opened = try removed.open(deviceSecret: try secret.givenBack())
    #expect(octets(try opened.tiers().unlocked) == [UInt8](hex: vector.tierA))
    #expect(octets(try opened.formerTiers()[0].tiers.session) == [UInt8](hex: try #require(vector.formerC)))
  }

  @Test("New keys can follow each other until the keybag is full of needed generations")
  func limit() throws {
    var opened = try Keybag.create(vault: vault, device: secret)
    var last = try newSecret()
    for number in 2...UInt32(Keybag.epochLimit) {
      last = try newSecret()
      opened = try opened.rotated(device: last)
      #expect(opened.keybag.epoch.number == number && fate(opened.keybag.encoded, last.key) == nil)
    }
    let full = opened.keybag
    let seen = failure { () throws(KeybagError) in _ = try full.open(deviceSecret: last.key).rotated(device: secret) }
    #expect(seen == .tooManyEpochs)
  }
}
