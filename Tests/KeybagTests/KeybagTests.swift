import Foundation
import LatchkeyBytes
import LatchkeySodium
import Testing

@testable import LatchkeyKeybag

/// The lowest cost that a keybag accepts: these tests derive keys often.
let cheap = PasswordCost(passes: 3, memory: 32 << 20)
let password = Array("correct horse".utf8)

/// The positions of the fields of a keybag with one protector and one epoch (FORMAT.md).
enum Offset {
  static let version = 8
  static let vault = 12
  static let generation = 28
  static let protectorCount = 44
  static let kind = 45
  static let state = 46
  static let salt = 79
  static let passes = 95
  static let memory = 99
  static let commitment = 107
  static let sealedLength = 139
  static let sealed = 141
  static let epochCount = 213
  static let epoch = 214
  static let tag = 426
  static let checksum = 458
  static let end = 490
}

@Suite("The keybag")
struct KeybagTests {
  init() throws { try Sodium.initialize() }

  private func opens(_ keybag: Keybag, _ password: [UInt8]) -> KeybagError? {
    failure { () throws(KeybagError) in _ = try keybag.open(with: password).tiers() }
  }

  /// The error of decoding or opening a keybag file; nil if it opens.
  private func fate(_ file: [UInt8]) -> KeybagError? {
    failure { () throws(KeybagError) in
      _ = try Keybag(decoding: file).open(with: password).tiers()
    }
  }

  @Test("A keybag that was written, read and opened has the same tier keys, and recognises them")
  func roundTrip() throws {
    let created = try Keybag.create(with: password, cost: cheap)
    let tiers = try created.tiers()
    let file = created.keybag.encoded
    #expect(file.count == Offset.end)
    #expect(created.keybag.generation == 1)
    #expect(created.keybag.protectors.count == 1)
    #expect(created.keybag.protectors[0].state == .unproven)
    #expect(created.keybag.protectors[0].cost == cheap)
    #expect(abs(Double(created.keybag.created) - Date().timeIntervalSince1970) < 60)

    let read = try Keybag(decoding: file)
    #expect(read == created.keybag)
    let opened = try read.open(with: password)
    let again = try opened.tiers()
    #expect(octets(again.unlocked) == octets(tiers.unlocked))
    #expect(octets(again.session) == octets(tiers.session))
    #expect(octets(again.unlocked) != octets(again.session))
    #expect(try read.recognises(again))
  }

  @Test("Nothing of the secrets is in the file, and no two vaults share anything")
  func secrecy() throws {
    let first = try Keybag.create(with: password, cost: cheap)
    let second = try Keybag.create(with: password, cost: cheap)
    let file = Data(first.keybag.encoded)
    let tiers = try first.tiers()
    for secret in [password, octets(tiers.unlocked), octets(tiers.session)] {
      #expect(file.range(of: Data(secret)) == nil)
    }
    #expect(first.keybag.vault != second.keybag.vault)
    #expect(first.keybag.protectors[0].salt != second.keybag.protectors[0].salt)
    #expect(first.keybag.protectors[0].commitment != second.keybag.protectors[0].commitment)
    #expect(octets(try first.tiers().unlocked) != octets(try second.tiers().unlocked))
  }

  @Test("Another password does not open the keybag")
  func wrongPassword() throws {
    let keybag = try Keybag.create(with: password, cost: cheap).keybag
    for wrong in ["", "correct hors", "correct horse ", "Correct horse", "correct horse\u{0}"] {
      #expect(opens(keybag, Array(wrong.utf8)) == .wrongPassword)
    }
    #expect(opens(keybag, password) == nil)
  }

  @Test("A keybag recognises only its own tier keys, each in its own place")
  func recognises() throws {
    let created = try Keybag.create(with: password, cost: cheap)
    let keybag = created.keybag
    #expect(try keybag.recognises(try created.tiers()))
    #expect(try !keybag.recognises(try .random()))
    let tiers = try created.tiers()
    let swapped = TierKeys(unlocked: try tiers.session.duplicate(), session: try tiers.unlocked.duplicate())
    #expect(try !keybag.recognises(swapped))
    let half = TierKeys(unlocked: try tiers.unlocked.duplicate(), session: try .random())
    #expect(try !keybag.recognises(half))
    let otherHalf = TierKeys(unlocked: try .random(), session: try tiers.session.duplicate())
    #expect(try !keybag.recognises(otherHalf))
    let other = try Keybag.create(with: password, cost: cheap)
    #expect(try !keybag.recognises(try other.tiers()))
  }

  @Test("Proving marks the protector and raises the generation; the keys stay")
  func proving() throws {
    let created = try Keybag.create(with: password, cost: cheap)
    let proven = try created.proving()
    #expect(proven.generation == 2)
    #expect(proven.protectors[0].state == .proven)
    #expect(created.keybag.protectors[0].state == .unproven)
    #expect(proven.vault == created.keybag.vault && proven.epochs == created.keybag.epochs)
    let read = try Keybag(decoding: proven.encoded)
    let opened = try read.open(with: password)
    #expect(octets(try opened.tiers().unlocked) == octets(try created.tiers().unlocked))
    #expect(try opened.proving().generation == 3)
  }

  @Test("The use of a retiring password does not prove it")
  func retiring() throws {
    let vector = try #require(try Vectors().keybags.last)
    let keybag = try Keybag(decoding: [UInt8](hex: vector.file))
    let next = try keybag.open(with: Array("the old one".utf8)).proving()
    #expect(next.protectors.map(\.state) == [.retiring, .proven, .proven, .proven])
    #expect(next.generation == keybag.generation + 1)
  }
}

@Suite("Hostile keybags")
struct HostileKeybagTests {
  private let file: [UInt8]

  init() throws {
    try Sodium.initialize()
    file = try Keybag.create(with: password, cost: cheap).keybag.encoded
  }

  private func decoding(_ file: [UInt8]) -> KeybagError? {
    failure { () throws(KeybagError) in _ = try Keybag(decoding: file) }
  }

  @Test("A changed byte anywhere is damage")
  func everyByte() {
    for offset in file.indices {
      let seen = decoding(file.with(file[offset] ^ 0x41, at: offset))
      #expect(seen == (offset < Offset.version ? .foreign : .damaged), "offset \(offset)")
    }
  }

  /// The positions of Argon2id's input in the file.
  private let derivation = Offset.salt..<Offset.commitment

  // Somebody who can write the file can make its check sum right. The password must then not open the file.
  @Test("A byte changed, with the right check sum, never opens")
  func everyByteResummed() throws {
    let keybag = try Keybag(decoding: file)
    let mine = keybag.protectors[0]
    let derived = try PasswordHash.derive(
      password: password.span.bytes, salt: mine.salt, passes: mine.cost.passes, memory: mine.cost.memory)
    func open(_ keybag: Keybag) throws(KeybagError) {
      guard let root = try keybag.protectors[0].open(derived: derived, vault: keybag.vault) else {
        throw .wrongPassword
      }
      _ = try keybag.opened(root, by: 0).tiers()
    }
    try open(keybag)
    for offset in Offset.version..<Offset.checksum where !derivation.contains(offset) {
      let changed = file.with(file[offset] ^ 0x01, at: offset).resummed
      let seen = failure { () throws(KeybagError) in try open(try Keybag(decoding: changed)) }
      #expect(seen != nil, "offset \(offset)")
    }
  }

  // Each try costs one run of Argon2id, so every fourth byte of the salt stands for its neighbours.
  @Test("A keybag with a changed byte of Argon2id's input and the right check sum never opens")
  func everyDerivationResummed() {
    for offset in derivation where offset >= Offset.passes || offset.isMultiple(of: 4) {
      let changed = file.with(file[offset] ^ 0x01, at: offset).resummed
      let seen = failure { () throws(KeybagError) in _ = try Keybag(decoding: changed).open(with: password).tiers() }
      #expect(seen != nil, "offset \(offset)")
    }
  }

  @Test("The tag covers the fields that no wrapped key covers")
  func tag() throws {
    // The state, the dates, the generation and a second epoch's number take no part in opening the root key.
    for offset in [Offset.generation, 36, Offset.state, 63, 71, Offset.epoch, Offset.epoch + 4, Offset.tag] {
      let changed = try Keybag(decoding: file.with(file[offset] ^ 0x02, at: offset).resummed)
      let seen = failure { () throws(KeybagError) in _ = try changed.open(with: password) }
      #expect(seen == .damaged, "offset \(offset)")
    }
  }

  @Test("A keybag that was truncated anywhere is an error")
  func everyLength() {
    for count in 0..<file.count {
      let seen = decoding(Array(file.prefix(count)))
      #expect(seen == .truncated || seen == .damaged, "\(count) bytes")
      if count < 140 { #expect(seen == .truncated, "\(count) bytes") }
      guard count > 40 else { continue }
      #expect(decoding(Array(file.prefix(count)).resummed) != nil, "\(count) bytes, with a check sum")
    }
  }

  @Test("Extra bytes are an error, with and without a check sum over them")
  func trailing() {
    #expect(decoding(file + [0]) == .damaged)
    for count in [1, 31, 32, 33, 212] {
      let longer = Array(file.prefix(Offset.checksum)) + [UInt8](repeating: 0, count: count + 32)
      #expect(decoding(longer.resummed) == .truncated)
    }
    #expect(decoding([UInt8](repeating: 0x4C, count: Keybag.sizeLimit + 1)) == .truncated)
    #expect(decoding(file + [UInt8](repeating: 0, count: Keybag.sizeLimit)) == .truncated)
  }

  @Test("Other files are reported as foreign")
  func foreign() {
    #expect(decoding(Array("SQLite format 3\u{0}".utf8)) == .foreign)
    #expect(decoding([0]) == .foreign)
    #expect(decoding([]) == .truncated)
    #expect(decoding(Array("LATCHKEY".utf8)) == .truncated)
  }

  @Test("A newer format is reported, but only if the file is whole")
  func newerFormat() {
    #expect(decoding(file.with(number: UInt32(2), at: Offset.version).resummed) == .newerFormat(2))
    #expect(decoding(file.with(number: UInt32.max, at: Offset.version).resummed) == .newerFormat(.max))
    #expect(decoding(file.with(number: UInt32(2), at: Offset.version)) == .damaged)
    #expect(decoding(file.with(number: UInt32(0), at: Offset.version).resummed) == .unreasonable)
    let short = (Array(file.prefix(20)) + [UInt8](repeating: 0, count: 32)).with(number: UInt32(7), at: Offset.version)
    #expect(decoding(short.resummed) == .newerFormat(7))
  }

  // The reader refuses such a keybag before it gets a password, so Argon2id has not run.
  @Test("Unreasonable numbers are refused before any password is tried")
  func unreasonable() {
    let mebibyte = UInt64(1) << 20
    for passes in [0, 1, 2, 11, UInt32.max] as [UInt32] {
      #expect(decoding(file.with(number: passes, at: Offset.passes).resummed) == .unreasonable, "\(passes) passes")
    }
    for memory in [0, 1, 8192, 32 * mebibyte - 1024, 32 * mebibyte + 1, 1024 * mebibyte + 1024, 1 << 63, .max] {
      #expect(decoding(file.with(number: memory, at: Offset.memory).resummed) == .unreasonable, "\(memory) bytes")
    }
    for count in [0, 17, 255] as [UInt8] {
      #expect(decoding(file.with(count, at: Offset.protectorCount).resummed) == .unreasonable)
    }
    for count in [0, 9, 255] as [UInt8] {
      #expect(decoding(file.with(count, at: Offset.epochCount).resummed) == .unreasonable)
    }
    for kind in [0, 5, 255] as [UInt8] {
      #expect(decoding(file.with(kind, at: Offset.kind).resummed) == .unreasonable)
    }
    for state in [3, 255] as [UInt8] {
      #expect(decoding(file.with(state, at: Offset.state).resummed) == .unreasonable)
    }
    for length in [0, 71, 73, 513, .max] as [UInt16] {
      let seen = decoding(file.with(number: length, at: Offset.sealedLength).resummed)
      #expect(seen == .unreasonable || (Int(length) > 512 && seen == .truncated), "\(length) bytes")
    }
    for generation in [0, .max] as [UInt64] {
      #expect(decoding(file.with(number: generation, at: Offset.generation).resummed) == .unreasonable)
    }
  }

  @Test("The bounds themselves are reasonable")
  func bounds() {
    let mebibyte = UInt64(1) << 20
    #expect(PasswordCost(passes: 3, memory: 32 * mebibyte).isReasonable)
    #expect(PasswordCost(passes: 10, memory: 1024 * mebibyte).isReasonable)
    #expect(PasswordCost.compiledIn.isReasonable)
    #expect(PasswordCost.compiledIn.memory >= 64 * mebibyte)
    #expect(!PasswordCost(passes: 3, memory: .max / 1024 * 1024).isAffordable)
  }

  @Test(
    "A new protector takes a second at most, within its bounds", arguments: [1e-5, 0.65, 2.6, 2.7, 3, 5, 5.3, 50, 1e9])
  func fitting(speed: Double) {
    let mebibyte = UInt64(1) << 20
    let most = PasswordCost.compiledIn
    let cost = PasswordCost.fitting(speed: speed, available: .max)
    let time = { (cost: PasswordCost) in speed * Double(cost.memory / mebibyte) * Double(cost.passes) }
    #expect(cost.isReasonable && cost.memory >= 64 * mebibyte && cost.memory <= most.memory && cost.passes == 3)
    #expect(time(cost) <= 1000 || cost.memory == 64 * mebibyte)
    // The cost is the highest that takes at most a second, or the highest of all.
    let next = PasswordCost(passes: 3, memory: cost.memory + 16 * mebibyte)
    #expect(cost == most || time(next) > 1000)
    #expect(PasswordCost.fitting(speed: speed, available: 256 * mebibyte).memory == 64 * mebibyte)
  }

  @Test("A password is too slow if it takes more than two seconds, and if a new password would cost less")
  func slowness() {
    let mebibyte = UInt64(1) << 20
    let dear = PasswordCost(passes: 10, memory: 512 * mebibyte)
    #expect(dear.isTooMuch(taking: 2_000_001))
    #expect(!dear.isTooMuch(taking: 1_900_000))
    // However slow the machine is, there is no cost below the minimum.
    #expect(!PasswordCost(passes: 3, memory: 64 * mebibyte).isTooMuch(taking: 60_000_000))
    #expect(!PasswordCost(passes: 3, memory: 32 * mebibyte).isTooMuch(taking: 60_000_000))
  }

  @Test("This machine can bear the measured cost")
  func measured() {
    let cost = PasswordCost.measured()
    #expect(cost.isReasonable && cost.memory >= 64 << 20 && cost.memory <= PasswordCost.compiledIn.memory)
  }

  @Test("A cost that the machine cannot bear is the error noMemory, for a creation too")
  func noMemory() {
    let cost = PasswordCost(passes: 3, memory: 1 << 50)
    #expect(
      failure { () throws(KeybagError) in _ = try Keybag.create(with: password, cost: cost) } == .noMemory
    )
  }

  // Somebody who can write the file may put another vault's protector into it.
  @Test("A protector of another vault does not open, even with the same password")
  func transplant() throws {
    let other = try Keybag.create(with: password, cost: cheap).keybag.encoded
    let mixed = Array(file[..<Offset.kind] + other[Offset.kind..<Offset.epochCount] + file[Offset.epochCount...])
    let keybag = try Keybag(decoding: mixed.resummed)
    #expect(failure { () throws(KeybagError) in _ = try keybag.open(with: password) } == .wrongPassword)
    let epochs = Array(file[..<Offset.epoch] + other[Offset.epoch..<Offset.tag] + file[Offset.tag...])
    let second = try Keybag(decoding: epochs.resummed)
    #expect(failure { () throws(KeybagError) in _ = try second.open(with: password) } == .damaged)
  }

  // The tag would detect the change first. The epoch detects it by itself too, since each tier has a wrapping key of its own.
  @Test("Tier keys with an exchanged place, vault or number do not open")
  func swappedTiers() throws {
    let root = try Key.random()
    let vault = [UInt8](repeating: 3, count: 16)
    var out = ByteWriter()
    try TierEpoch(number: 1, tiers: try .random(), root: root, vault: vault).encode(into: &out)
    func opens(_ bytes: [UInt8], _ vault: [UInt8]) throws -> Bool {
      var input = ByteReader(bytes)
      let epoch = try TierEpoch(decoding: &input)
      return failure { () throws(SodiumError) in _ = try epoch.open(root: root, vault: vault) } == nil
    }
    #expect(try opens(out.bytes, vault))
    #expect(try !opens(Array(out.bytes[..<4] + out.bytes[76..<148] + out.bytes[4..<76] + out.bytes[148...]), vault))
    #expect(try !opens(out.bytes.with(2, at: 0), vault))
    #expect(try !opens(out.bytes, [UInt8](repeating: 4, count: 16)))
  }

  @Test("Noise behind a valid head and check sum never traps")
  func noise() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<3000 {
      var changed = file
      for _ in 0..<Int.random(in: 1...8, using: &generator) {
        let offset = Int.random(in: Offset.vault..<Offset.checksum, using: &generator)
        changed[offset] =
          [0, 1, 2, 0x7F, 0x80, 0xFF, UInt8.random(in: 0...255, using: &generator)].randomElement() ?? 0
      }
      if Bool.random(using: &generator) {
        changed = Array(changed.prefix(Int.random(in: 45...Offset.end, using: &generator)))
      }
      if let keybag = try? Keybag(decoding: changed.resummed) { #expect(keybag.encoded == changed.resummed) }
    }
  }
}
