import Foundation
import LatchkeyPosix
import LatchkeyScratch
import LatchkeySodium
import Testing

@testable import LatchkeyKeybag

@Suite("The keybag's copy")
struct KeybagCopyTests {
  private let home: ScratchFolder
  private let owner = geteuid()
  private let created: Keybag

  init() throws {
    try Sodium.initialize()
    home = try ScratchFolder()
    created = try KeybagFile.create(home: home.path, owner: geteuid(), with: password).keybag
    try put("vault.db", [1])
  }

  private var vault: String { KeybagFile.folderPath(home: home.path) }
  private func folder() throws -> Folder { try KeybagFile.folder(home: home.path, owner: owner) }

  private func put(_ name: String, _ bytes: [UInt8]) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: vault + "/" + name))
  }

  private func content(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: vault + "/" + name).map { Array($0) }
  }

  private func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: vault + "/" + name) }

  private func asides() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: vault).filter { $0.hasPrefix(KeybagFile.damagedPrefix) }
  }

  private func load() throws -> Keybag { try KeybagFile.load(from: try folder()) }

  /// The damaged files in place of a keybag before its copy replaces them; nil means no file.
  private static func damages(of whole: [UInt8]) -> [[UInt8]?] {
    var damages: [[UInt8]?] = [nil, [], Array("{}".utf8), whole + [0], [UInt8](repeating: 76, count: 100_000)]
    damages.append([UInt8](repeating: 0, count: whole.count))
    damages.append(whole.with(number: UInt64.max, at: Offset.generation).resummed)
    for size in [1, 8, 12, 139, 200, 489] { damages.append(Array(whole.prefix(size))) }
    for start in stride(from: 0, to: whole.count, by: 35) {
      var bytes = whole
      for position in start..<min(start + 35, whole.count) { bytes[position] = ~bytes[position] }
      damages.append(bytes)
    }
    return damages
  }

  @Test("The keybag's copy replaces a damaged keybag, which stays under another name")
  func heals() throws {
    for damaged in Self.damages(of: created.encoded) {
      if let damaged { try put("keybag", damaged) } else { try remove("keybag") }
      let healing = try #require(KeybagFile.heal(in: try folder()), "\(damaged?.count ?? -1) bytes")
      #expect(try load() == created)
      #expect(content("keybag.copy") == created.encoded)
      #expect((healing.aside == nil) == (damaged == nil))
      if let aside = healing.aside {
        #expect(content(aside) == damaged)
        #expect(healing.explanation.contains(aside))
        try remove(aside)
      }
      #expect(try asides() == [])
      // The healing is reported once.
      #expect(KeybagFile.heal(in: try folder()) == nil)
    }
  }

  @Test("The keybag's copy replaces a link, a folder and a device's file")
  func strangeFiles() throws {
    for kind in 0..<3 {
      try remove("keybag")
      let path = vault + "/keybag"
      let made: Int32 =
        switch kind {
        case 0: symlink("/etc/passwd", path)
        case 1: mkdir(path, 0o700)
        default: mkfifo(path, 0o600)
        }
      #expect(made == 0)
      #expect(KeybagFile.heal(in: try folder())?.aside != nil)
      #expect(try load() == created)
    }
    #expect(try asides().count == 3)
  }

  @Test("The keybag's copy is not used for a readable or newer keybag, or without a database")
  func notUsed() throws {
    let older = try Keybag.create(with: password, cost: cheap).keybag
    try put("keybag", older.encoded)
    #expect(KeybagFile.heal(in: try folder()) == nil)
    let newer = created.encoded.with(number: UInt32(2), at: 8).resummed
    try put("keybag", newer)
    #expect(KeybagFile.heal(in: try folder()) == nil && content("keybag") == newer)
    try remove("keybag")
    try remove("vault.db")
    #expect(!KeybagFile.isMissing(butCopiedIn: try folder()))
    #expect(KeybagFile.heal(in: try folder()) == nil)
    // An earlier generation of the database is enough.
    try FileManager.default.createDirectory(atPath: vault + "/generations", withIntermediateDirectories: false)
    #expect(KeybagFile.heal(in: try folder()) == nil)
    try put("generations/1-1-1.db", [1])
    #expect(KeybagFile.isMissing(butCopiedIn: try folder()))
    #expect(
      failure { () throws(KeybagError) in
        _ = try KeybagFile.create(home: home.path, owner: owner, with: password)
      } == .alreadyThere)
    #expect(KeybagFile.heal(in: try folder()) != nil)
  }

  @Test("A useless copy of the keybag does not prevent the creation of a vault")
  func uselessCopy() throws {
    for name in ["keybag", "vault.db"] { try remove(name) }
    try FileManager.default.createDirectory(atPath: vault + "/generations", withIntermediateDirectories: false)
    try put("generations/1-1-1.db", [1])
    try put("keybag.copy", Array(created.encoded.dropLast()))
    #expect(!KeybagFile.isMissing(butCopiedIn: try folder()))
    #expect(try KeybagFile.create(home: home.path, owner: owner, with: password).keybag.vault != created.vault)
  }

  @Test("The keybag's copy heals nothing more once there are eight damaged keybags")
  func manyAsides() throws {
    for _ in 1...8 {
      try put("keybag", [1])
      #expect(KeybagFile.heal(in: try folder()) != nil)
    }
    try put("keybag", [1])
    #expect(KeybagFile.heal(in: try folder()) == nil)
    #expect(try asides().count == 8 && content("keybag") == [1])
  }

  @Test("The keybag's copy is not used if it is damaged as well")
  func damagedCopy() throws {
    for name in ["keybag", "keybag.copy"] { try put(name, Array(created.encoded.dropLast())) }
    #expect(KeybagFile.heal(in: try folder()) == nil)
    #expect(try asides() == [])
  }

  @Test("The copy of a lost vault's keybag is removed when another vault is created")
  func creation() throws {
    try remove("keybag")
    try remove("vault.db")
    let other = try KeybagFile.create(home: home.path, owner: owner, with: password).keybag
    #expect(other.vault != created.vault)
    #expect(content("keybag.copy") == other.encoded)
  }

  @Test("The keybag's copy is the newest keybag, or is missing")
  func replacing() throws {
    let opened = try created.open(with: password)
    try KeybagFile.replace(try KeybagFile.load(from: folder()), with: try opened.confirming(), in: try folder())
    #expect(content("keybag.copy") == content("keybag"))
    // If the copy cannot be removed, the keybag cannot change either, because the copy would keep an ended password.
    try remove("keybag.copy")
    try FileManager.default.createDirectory(atPath: vault + "/keybag.copy", withIntermediateDirectories: false)
    let before = content("keybag")
    let next = try load().open(with: password).confirming()
    let held = try folder()
    #expect(
      failure { () throws(KeybagError) in try KeybagFile.replace(try KeybagFile.load(from: held), with: next, in: held)
      } != nil)
    #expect(content("keybag") == before)
  }

  @Test("The next login makes a missing, damaged or foreign copy of the keybag again, and never from an older keybag")
  func keeping() throws {
    let other = try Keybag.create(with: password, cost: cheap).keybag
    let next = try created.open(with: password).confirming()
    try KeybagFile.replace(try KeybagFile.load(from: folder()), with: next, in: try folder())
    for copy in [nil, [], other.encoded, created.encoded] as [[UInt8]?] {
      if let copy { try put("keybag.copy", copy) } else { try remove("keybag.copy") }
      KeybagFile.keepCopy(of: next, in: try folder())
      #expect(content("keybag.copy") == next.encoded)
    }
    // An older keybag is in the place of the newest.
    try put("keybag", created.encoded)
    KeybagFile.keepCopy(of: created, in: try folder())
    #expect(content("keybag.copy") == next.encoded)
    // The next login makes no copy of a keybag that is no longer in use.
    try remove("keybag.copy")
    KeybagFile.keepCopy(of: next, in: try folder())
    #expect(content("keybag.copy") == nil)
  }

  @Test("The keybag's copy opens with no ended password and no replaced recovery code, and has no former keys")
  func ended() throws {
    let code = try RecoveryCode.random()
    try KeybagFile.replace(
      try KeybagFile.load(from: folder()), with: try created.open(with: password).settingRecoveryCode(code),
      in: try folder())
    let second = Array("another".utf8)
    let added = try #require(
      try load().open(with: password).addingPassword(second.span.bytes, cost: cheap))
    try KeybagFile.replace(try KeybagFile.load(from: folder()), with: added, in: try folder())
    let damaged = Array(content("keybag")?.dropLast() ?? [])
    try put("keybag", damaged)
    let aside = try #require(KeybagFile.heal(in: try folder())?.aside)
    // Both passwords open the vault until a login with the new password.
    _ = try load().open(with: password)
    #expect(content(aside) == damaged)
    try KeybagFile.replace(
      try KeybagFile.load(from: folder()), with: try load().open(with: second).proving(), in: try folder())
    // The damaged file, which opened with the old password, is removed.
    #expect(try asides() == [])
    try remove("keybag")
    #expect(KeybagFile.heal(in: try folder()) != nil)
    let changed = try load()
    #expect(failure { () throws(KeybagError) in _ = try changed.open(with: password) } == .wrongPassword)
    _ = try load().open(code: code)

    let rotated = try load().open(with: second).rotated(password: second.span.bytes, cost: cheap)
    try KeybagFile.replace(try KeybagFile.load(from: folder()), with: rotated.keybag, in: try folder())
    let settled = try #require(try rotated.dropping(epochsBefore: rotated.keybag.epoch.number, proving: false))
    try KeybagFile.replace(try KeybagFile.load(from: folder()), with: settled, in: try folder())
    try put("keybag", [])
    #expect(KeybagFile.heal(in: try folder()) != nil)
    #expect(try load().epochs.map(\.number) == [2])
    let removed = try #require(try load().open(with: second).removingRecoveryCode())
    try KeybagFile.replace(try KeybagFile.load(from: folder()), with: removed, in: try folder())
    #expect(try asides() == [])
    try put("keybag", [])
    #expect(KeybagFile.heal(in: try folder()) != nil)
    let last = try load()
    #expect(failure { () throws(KeybagError) in _ = try last.open(code: code) } == .wrongPassword)
  }
}
