import Glibc
import LatchkeyKeybag
import LatchkeySQLite
import LatchkeySodium
import LatchkeyStandInDevice
import Testing

@testable import LatchkeyVault

@Suite("Older copies of the vault")
struct GenerationTests {
  private let home: Home
  private let device = StandInDevice(seed: 5)
  private let memory = StandInMemory()

  init() throws {
    home = try Home()
    device.memory = memory
  }

  private let told = ToldVault()

  /// The vault as a newly started daemon has it.
  private func vault() -> Vault {
    let vault = Vault(home: home.path, owner: getuid(), machine: Home.machine) { () throws(DeviceKeyError) in device }
    vault.delegate = told
    return vault
  }

  /// One session: a daemon starts, opens the vault, and ends.
  @discardableResult
  private func session(_ body: (Vault) throws -> Void = { _ in }) throws -> Vault {
    let vault = vault()
    try home.unlock(vault)
    vault.verifyToEnd()
    try body(vault)
    vault.seal()
    vault.settle()
    return vault
  }

  /// The present files of the vault, without a daemon.
  private func copy() -> [String: [UInt8]] { home.contents.filter { $0.key != "keybag.lock" } }

  private func putBack(_ copy: [String: [UInt8]], _ names: [String]? = nil) {
    for name in home.names where name.hasPrefix("vault.db-") { home.remove(name) }
    for (name, bytes) in copy where names?.contains(name) ?? true { home.write(name, bytes) }
  }

  private var remembered: VaultGenerations? { memory.known[home.keybag.vault] }

  @Test("Every unlock raises the generation, and the database is on the disk before the service remembers the number")
  func grows() throws {
    for number: UInt64 in 1...3 { try session { #expect($0.keys.generation == number) } }
    #expect(memory.notes.map(\.database) == [0, 1, 1, 2, 2, 3])
    #expect(remembered == VaultGenerations(keybag: 1, database: 3))
    try session { vault in
      vault.lock()
      try home.unlock(vault, opening: .session)
      #expect(vault.keys.generation == 4)
      try home.unlock(vault)
      #expect(vault.keys.generation == 5)
      try vault.add(["n": "1"], "x")
      #expect(vault.keys.generation == 5)
    }
    #expect(told.older == [])
  }

  @Test("A database from before the last unlock is reported once, and its items stay readable")
  func olderDatabase() throws {
    var id: Int64 = 0
    try session { id = try $0.add(["n": "1"], "first") }
    let old = copy()
    try session { try $0.set(id, "second") }
    putBack(old)
    try session { vault in
      #expect(vault.olderFiles.found == .database)
      #expect(vault.problemTexts == [])
      #expect(try vault.secretText(id) == "first")
      vault.lock()
      try home.unlock(vault)
      #expect(vault.olderFiles.found == .database)
      vault.endSession()
      #expect(vault.olderFiles.found == [])
    }
    #expect(told.older == [.database])
    try session { #expect($0.olderFiles.found == []) }
    putBack(old)
    try session { #expect($0.olderFiles.found == .database) }
    #expect(told.older == [.database, .database])
  }

  @Test("An older keybag is reported, and so are both files together")
  func olderKeybag() throws {
    try session()
    let old = copy()
    let folder = try KeybagFile.folder(home: home.path, owner: getuid())
    let next = try Home.open(home.keybag).settingRecoveryCode(try .random())
    try KeybagFile.replace(try KeybagFile.load(from: folder), with: next, in: folder)
    try session()
    #expect(remembered == VaultGenerations(keybag: 2, database: 2))
    putBack(old, ["keybag"])
    try session { #expect($0.olderFiles.found == .keybag) }
    #expect(remembered == VaultGenerations(keybag: 1, database: 3))
    try session { #expect($0.olderFiles.found == []) }
    try KeybagFile.replace(try KeybagFile.load(from: folder), with: next, in: folder)
    try session()
    putBack(old)
    try session { #expect($0.olderFiles.found == [.keybag, .database]) }
    #expect(told.older == [.keybag, [.keybag, .database]])
  }

  @Test("An older copy is reported later if the service did not answer at first", arguments: [false, true])
  func unanswered(isMute: Bool) throws {
    try session()
    let old = copy()
    try session()
    putBack(old)
    (memory.isMute, memory.failure) = (isMute, isMute ? nil : .unavailable(.device(.silent)))
    for _ in 0..<3 {
      try session { vault in
        #expect(vault.olderFiles.found == [])
        #expect(vault.problemTexts.contains { $0.contains("it is not known whether an older copy") })
      }
    }
    (memory.isMute, memory.failure) = (false, nil)
    try session { vault in
      #expect(vault.olderFiles.found == .database)
      #expect(vault.problemTexts == [])
    }
  }

  @Test("A note that was interrupted by other work is no problem and is repeated; one that always fails is reported")
  func brokenOff() throws {
    try session()
    memory.failure = .brokenOff
    let vault = vault()
    try home.unlock(vault)
    #expect(vault.problemTexts == [] && vault.waitsForDevice)
    for _ in 0..<3 { try vault.meetDevice() }
    #expect(vault.problemTexts == [])
    try vault.meetDevice()
    #expect(vault.problemTexts.count == 1 && vault.problems.allSatisfy(\.isBrokenOff))
    memory.failure = nil
    try vault.meetDevice()
    #expect(vault.problemTexts == [] && !vault.waitsForDevice)
    #expect(remembered == VaultGenerations(keybag: 1, database: 2))
  }

  @Test("If nothing is remembered, nothing is reported", arguments: [false, true])
  func unknown(isForgotten: Bool) throws {
    try session()
    let old = copy()
    try session()
    putBack(old)
    if isForgotten { memory.failure = .otherDevice } else { device.memory = nil }
    try session { vault in
      #expect(vault.problemTexts == [])
      #expect(vault.keys.generation == 1)
    }
    #expect(told.older == [])
  }

  @Test("A database from before there were generations counts as 0")
  func withoutGeneration() throws {
    try session()
    do {
      let store = try Store(path: home.folder + "/vault.db", vault: home.keybag.vault)
      let wrap = try home.tiers.session.derive(.indexWrap, [store.vault])
      var row = try store.vaultRow()
      let content = try AEAD.open(row.indexKey.span.bytes, key: wrap, associated: store.vault)
      #expect(content.count == 40)
      row.indexKey = AEAD.seal(content.bytes.extracting(first: 32), key: wrap, associated: store.vault)
      try store.update(row)
    }
    memory.known = [:]
    try session { #expect($0.keys.generation == 1) }
    #expect(told.older == [])
  }

  @Test("New keys keep the generation")
  func rotation() throws {
    try session { try $0.add(["n": "1"], "x") }
    let password = Home.password
    let rotated = try Home.open(home.keybag).rotated(
      password: password.span.bytes, cost: PasswordCost(passes: 3, memory: 32 << 20))
    try KeybagFile.replace(
      home.keybag, with: rotated.keybag, in: try KeybagFile.folder(home: home.path, owner: getuid()))
    let vault = vault()
    try vault.unlock(
      try rotated.tiers(), former: try rotated.formerTiers(), opening: .everything, liftingLocks: true,
      mayCreate: false)
    #expect(vault.keys.generation == 2)
    #expect(remembered == VaultGenerations(keybag: 2, database: 2))
    #expect(told.older == [])
  }

  @Test("No generation is remembered for a database in which damage was found")
  func damaged() throws {
    try session()
    let old = copy()
    try session()
    putBack(old)
    let vault = vault()
    try home.unlock(vault)
    // A database whose damage is found later is not written again, and its generation is not remembered again.
    vault.database.note(.damaged(.verbatim("vault.db: a test")))
    let count = memory.notes.count
    vault.lock()
    try home.unlock(vault)
    #expect(memory.notes.count == count)
    #expect(vault.olderFiles.found == .database)
  }
}
