import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium
import LatchkeyStandInDevice
import Testing

@testable import LatchkeyVault

/// Items of whenPasscodeSetThisDeviceOnly, whose keys end with the login's password.
@Suite("The end of the login's password")
struct PasscodeTests {
  enum Kept: CaseIterable { case file, service }

  let home: Home
  let service = StandInDevice(seed: 9)

  init() throws { home = try Home() }

  func vault(_ kept: Kept, of home: Home? = nil) -> Vault {
    let home = home ?? self.home
    guard kept == .service else { return home.vault() }
    return Vault(home: home.path, owner: getuid(), machine: Home.machine) { () throws(DeviceKeyError) in service }
  }

  /// Two items of the class, in two collections, and one of each other class.
  func filled(_ kept: Kept) throws -> (vault: Vault, doomed: [Int64], others: [Int64]) {
    let vault = vault(kept)
    try vault.unlock(home.tiers, opening: .everything, liftingLocks: true, mayCreate: true)
    let second = try vault.collections.create(label: "Second")
    var doomed: [Int64] = []
    var others: [Int64] = []
    for accessibility in AccessibilityClass.allCases {
      let id = try vault.add(["class": accessibility.name], "secret of \(accessibility.name)", accessibility)
      if accessibility == .whenPasscodeSetThisDeviceOnly { doomed.append(id) } else { others.append(id) }
    }
    doomed.append(
      try vault.add(["in": "second"], "another secret", .whenPasscodeSetThisDeviceOnly, in: second))
    return (vault, doomed, others)
  }

  @Test("destroys its items and no others, and leaves nothing of them", arguments: Kept.allCases)
  func destroys(_ kept: Kept) throws {
    let (vault, doomed, others) = try filled(kept)
    vault.settleWhole()
    let rows = try doomed.map { try #require(try vault.database.store?.item($0)) }
    func traces(_ row: ItemRow) -> Int {
      home.contents.values.count { contains($0, row.secret) || contains($0, row.itemKey) || contains($0, row.metadata) }
    }
    #expect(rows.allSatisfy { traces($0) == 1 })
    vault.lock()
    try vault.passcode.destroyItems()
    #expect(
      vault.passcode.takeDestroyed().map(\.id).sorted() == doomed.sorted() && vault.passcode.takeDestroyed().isEmpty)
    vault.settleWhole()
    #expect(rows.allSatisfy { traces($0) == 0 })
    for _ in 0..<2 {
      #expect(try vault.reader.search(.accessibility(.whenPasscodeSetThisDeviceOnly)).isEmpty)
      #expect(try vault.reader.search(.attributes(["in": "second"])).isEmpty)
      try home.unlock(vault)
      for id in others { _ = try vault.reader.secret(ofItem: id) }
    }
    #expect(vault.problemTexts.isEmpty)
  }

  @Test("leaves copies of the vault from before dead", arguments: Kept.allCases)
  func copies(_ kept: Kept) throws {
    let (vault, doomed, others) = try filled(kept)
    vault.settleWhole()
    let copy = try Home(copying: home)
    // The positive control: as long as the secret exists, so do the items.
    do {
      let before = self.vault(kept, of: copy)
      try copy.unlock(before)
      for id in doomed + others { _ = try before.reader.secret(ofItem: id) }
      before.settleWhole()
    }
    try vault.passcode.destroyItems()
    // The key is in a file next to the vault, and somebody may have copied both: docs/security/classes.md.
    if kept == .file { copy.write(FileDeviceKey.name, home.read(FileDeviceKey.name)) }
    let back = self.vault(kept, of: copy)
    for id in doomed { #expect(throws: VaultError.self) { try back.reader.secret(ofItem: id) } }
    try copy.unlock(back)
    for id in doomed { #expect(throws: VaultError.self) { try back.reader.secret(ofItem: id) } }
    for id in others { _ = try back.reader.secret(ofItem: id) }
  }

  @Test("The end of the password goes on after an interruption, and such items may return", arguments: Kept.allCases)
  func interrupted(_ kept: Kept) throws {
    let (doomed, others) = try {
      let (vault, doomed, others) = try filled(kept)
      vault.settleWhole()
      let folder = try KeybagFile.folder(home: home.path, owner: getuid())
      try #require(vault.device.key).eraseErasable(in: folder)
      return (doomed, others)
    }()
    let again = try revived(kept, doomed, others)
    let vault = vault(kept)
    #expect(try vault.reader.search(.attributes(["again": "yes"])).map(\.isReadable) == [false])
    try home.unlock(vault)
    #expect(try vault.secretText(again) == "once more")
    #expect(vault.problemTexts.isEmpty)
  }

  /// The vault after the interruption, and the number that a new item got then.
  private func revived(_ kept: Kept, _ doomed: [Int64], _ others: [Int64]) throws -> Int64 {
    let vault = vault(kept)
    // Such items are found, but not read. The vault does not call them destroyed before their end is on the disk.
    #expect(try vault.reader.search(.attributes(["in": "second"])).map(\.isReadable) == [false])
    try home.unlock(vault)
    for id in doomed { #expect(throws: VaultError.noSuchItem) { try vault.reader.secret(ofItem: id) } }
    for id in others { _ = try vault.reader.secret(ofItem: id) }
    let again = try vault.add(["again": "yes"], "once more", .whenPasscodeSetThisDeviceOnly)
    vault.settleWhole()
    return again
  }

  @Test("The end of the login's password destroys nothing if the device cannot be asked")
  func unavailable() throws {
    let (vault, doomed, _) = try filled(.service)
    service.failure = .unavailable(.device(.silent))
    #expect(throws: VaultError.self) { try vault.passcode.destroyItems() }
    service.failure = nil
    for id in doomed { _ = try vault.reader.secret(ofItem: id) }
  }

  enum Loss: CaseIterable { case missing, unreadable, damaged }

  /// Removing the database for a moment does not save its items.
  @Test("The end of the login's password does not wait for a database", arguments: Kept.allCases, Loss.allCases)
  func withoutDatabase(_ kept: Kept, _ loss: Loss) throws {
    let (copy, doomed, others) = try {
      let (vault, doomed, others) = try filled(kept)
      vault.settleWhole()
      return (try Home(copying: home), doomed, others)
    }()
    if loss == .unreadable { home.write(KeybagFile.database, Array("not a database".utf8)) }
    if loss == .missing { home.remove(KeybagFile.database) }
    let vault = vault(kept)
    if loss == .damaged { vault.database.note(.damaged(.verbatim("vault.db: for the test"))) }
    #expect(vault.passcode.mayHaveItems)
    try? vault.passcode.destroyItems()
    if kept == .file { copy.write(FileDeviceKey.name, home.read(FileDeviceKey.name)) }
    let back = self.vault(kept, of: copy)
    try copy.unlock(back)
    for id in doomed { #expect(throws: VaultError.self) { try back.reader.secret(ofItem: id) } }
    for id in others { _ = try back.reader.secret(ofItem: id) }
  }

  @Test("is not believed to be complete because the database says so")
  func believed() throws {
    do {
      let (vault, _, _) = try filled(.service)
      try vault.passcode.destroyItems()
      #expect(!vault.passcode.mayHaveItems)
      vault.settleWhole()
    }
    // Such a database can be put in place of one with items.
    let vault = vault(.service)
    #expect(vault.passcode.mayHaveItems)
    try vault.passcode.destroyItems()
    #expect(!vault.passcode.mayHaveItems)
    try home.unlock(vault)
    #expect(vault.passcode.mayHaveItems)
  }

  @Test("The password's end leaves a file's key alone if the database does not know it: it may be another device's")
  func ofOther() throws {
    do { try filled(.file).vault.settleWhole() }
    let elsewhere = home.vault(on: Home.otherMachine)
    let file = home.read(FileDeviceKey.name)
    #expect(throws: VaultError.self) { try elsewhere.passcode.destroyItems() }
    #expect(home.read(FileDeviceKey.name) == file)
  }
}
