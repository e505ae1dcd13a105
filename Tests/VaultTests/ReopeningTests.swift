import Glibc
import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyVault

@Suite("The same files in a new process")
struct ReopeningTests {
  let home: Home

  init() throws { home = try Home() }

  /// One item of each class.
  func fill(on machine: [UInt8]? = Home.machine, _ mark: String = "first") throws -> [AccessibilityClass: Int64] {
    let vault = try home.unlocked(on: machine)
    var ids: [AccessibilityClass: Int64] = [:]
    for accessibility in AccessibilityClass.allCases {
      ids[accessibility] = try vault.add(
        ["class": accessibility.name, "mark": mark], "\(mark) \(accessibility)", accessibility, label: mark)
    }
    return ids
  }

  @Test("The files in a new process have every acknowledged change")
  func everything() throws {
    let ids = try fill()
    do {
      let vault = try home.unlocked()
      try vault.set(try #require(ids[.whenUnlocked]), "changed")
      try vault.writer.deleteItem(try #require(ids[.always]))
    }
    let vault = try home.unlocked()
    for (accessibility, id) in ids where accessibility != .always {
      #expect(
        try vault.secretText(id) == (accessibility == .whenUnlocked ? "changed" : "first \(accessibility)"))
    }
    #expect(throws: VaultError.noSuchItem) { try vault.secretText(ids[.always] ?? 0) }
    vault.verifyToEnd()
    #expect(vault.isVerified && !vault.isDamaged && vault.problemTexts == [])
    #expect(home.names == ["device.key", "keybag", "keybag.lock", "vault.db", "vault.db-wal"])
    for name in home.names {
      var status = stat()
      #expect(stat(home.folder + "/" + name, &status) == 0 && status.st_mode & 0o777 == 0o600, "\(name)")
    }
  }

  @Test("The files in a new process find items before the first unlock, and say that they are locked")
  func sealedSearch() throws {
    let ids = try fill()
    let vault = home.vault()
    for (accessibility, id) in ids {
      let readable = accessibility.tier == .device
      let found = try vault.reader.search(.attributes(["class": accessibility.name]))
      #expect(found.map(\.id) == [id] && found.allSatisfy { $0.collection == 1 && $0.isReadable == readable })
    }
    #expect(try vault.ids(["mark": "first"]) == ids.values.sorted())
  }

  @Test("open on another machine but for what is bound to the first, which stays as it is", arguments: [false, true])
  func otherMachine(_ withoutDeviceKey: Bool) throws {
    let ids = try fill()
    let deviceKey = home.read("device.key")
    if withoutDeviceKey { home.remove("device.key") }
    let bound = ids.filter { $0.key.isBoundToDevice && $0.key != .always }
    do {
      let vault = home.vault(on: Home.otherMachine)
      // A search never returns an empty answer while the index has no key.
      #expect(throws: VaultError.self) { try vault.ids(["class": "always"]) }
      #expect(throws: VaultError.self) { try vault.collections.alias("default") }
      #expect(try vault.ids([:]) == ids.values.sorted())
      #expect(throws: VaultError.self) { try vault.secretText(ids[.always] ?? 0) }

      try home.unlock(vault)
      for (accessibility, id) in ids {
        #expect(try vault.ids(["class": accessibility.name]) == [id])
        if bound[accessibility] == nil {
          #expect(try vault.secretText(id) == "first \(accessibility)")
        } else {
          #expect(try vault.isReadable(id) == false)
          #expect(throws: VaultError.otherDevice) { try vault.secretText(id) }
          #expect(throws: VaultError.otherDevice) {
            try vault.add(["class": accessibility.name, "mark": "first"], "x", replacing: true)
          }
          #expect(throws: VaultError.otherDevice) { try vault.set(id, "x") }
        }
      }
    }
    let second = try fill(on: Home.otherMachine, "second")
    do {
      let vault = try home.unlocked(on: Home.otherMachine)
      for (accessibility, id) in second { #expect(try vault.secretText(id) == "second \(accessibility)") }
      // C brought the index, so the index goes with C.
      vault.seal()
      #expect(throws: VaultError.isLocked) { try vault.secretText(ids[.always] ?? 0) }
      #expect(try vault.secretText(second[.always] ?? 0) == "second always")
      #expect(try vault.ids(["mark": "second"]) == second.values.sorted())
    }
    if withoutDeviceKey { home.write("device.key", deviceKey) }
    let vault = try home.unlocked()
    for (accessibility, id) in ids { #expect(try vault.secretText(id) == "first \(accessibility)") }
    for (accessibility, id) in second where !accessibility.isBoundToDevice {
      #expect(try vault.secretText(id) == "second \(accessibility)")
    }
    vault.verifyToEnd()
    #expect(vault.problemTexts == [])
  }

  @Test("Without a machine identity the files open no items bound to it, and are searched only after the unlock")
  func noIdentity() throws {
    let ids = try fill()
    let vault = home.vault(on: nil)
    #expect(vault.problemTexts.contains { $0.hasPrefix("device.key: ") })
    #expect(throws: VaultError.self) { try vault.ids(["mark": "first"]) }
    try home.unlock(vault)
    #expect(try vault.ids(["mark": "first"]) == ids.values.sorted())
    #expect(try vault.secretText(ids[.whenUnlocked] ?? 0) == "first whenUnlocked")
    #expect(throws: VaultError.deviceMissing) { try vault.secretText(ids[.whenUnlockedThisDeviceOnly] ?? 0) }
    // C brought the index here, so the index goes with C.
    vault.seal()
    #expect(throws: VaultError.self) { try vault.ids(["mark": "first"]) }
  }

  @Test("The files in a new process tell a second process that the first has them, and do not disturb the first")
  func twoAtOnce() throws {
    let vault = try home.unlocked()
    let id = try vault.add(["a": "1"], "s")
    let second = home.vault()
    #expect(second.problemTexts == ["vault.db: another process uses it"])
    #expect(throws: VaultError.unavailable(.of(.database, .vault(.inUse)))) { try home.unlock(second) }
    #expect(throws: VaultError.unavailable(.of(.database, .vault(.inUse)))) { try second.ids(["a": "1"]) }
    #expect(try vault.secretText(id) == "s")
    #expect(try vault.add(["b": "1"], Array("t".utf8)).isNew)
    #expect(vault.problemTexts == [])
  }
}
