import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium
import LatchkeyStandInDevice
import Testing

@testable import LatchkeyKeybag
@testable import LatchkeyVault

@Suite("A vault without a password")
struct PasswordlessTests {
  let home: Home
  let service = StandInDevice(seed: 3)

  init() throws {
    home = try Home()
    let vault = try home.unlocked()
    _ = try vault.add(["a": "b"], "secret")
    let secret = try vault.device.newSecret(vault: home.keybag.vault, protector: Sodium.randomBytes(16))
    try KeybagFile.replace(
      home.keybag, with: try Home.open(home.keybag).removingPassword(secret),
      in: try KeybagFile.folder(home: home.path, owner: getuid()))
    vault.settleWhole()
  }

  func vault(of home: Home? = nil) -> Vault {
    Vault(home: (home ?? self.home).path, owner: getuid(), machine: Home.machine) { () throws(DeviceKeyError) in service
    }
  }

  /// Makes the keybag unwritable, as on a disk that is full or read-only.
  @Test("A vault without a password opens even if its protector cannot follow the device key")
  func stays() throws {
    do {
      let folder = try KeybagFile.folder(home: home.path, owner: getuid())
      let lock = try KeybagFile.lock(folder)
      defer { extendLifetime(lock) }
      let vault = vault()
      try vault.openByDevice()
      #expect(vault.isUnlocked && vault.device.backend == .host)
      #expect(vault.problemTexts.count == 1)
      vault.settleWhole()
    }
    for _ in 0..<2 {
      let vault = vault()
      try vault.openByDevice()
      #expect(vault.isUnlocked && vault.problemTexts.isEmpty)
      #expect(vault.keybag?.deviceProtector?.deviceWrapping?.identity == service.identity)
    }
  }

  @Test("The vault gets its database if the keybag awaits one, and a database that is missing later is a loss")
  func awaiting() throws {
    let home = try Home()
    let folder = try KeybagFile.folder(home: home.path, owner: getuid())
    do {
      let vault = vault(of: home)
      let secret = try vault.device.newSecret(vault: home.keybag.vault, protector: Sodium.randomBytes(16))
      let next = try Home.open(home.keybag).removingPassword(secret, isAwaitingDatabase: true)
      #expect(next.awaitsDatabase)
      try KeybagFile.replace(home.keybag, with: next, in: folder)
      vault.refresh()
      try vault.openByDevice()
      #expect(vault.isUnlocked && vault.keybag?.generation == 2 && vault.problemTexts.isEmpty)
      #expect(try KeybagFile.load(from: folder) == vault.keybag)
    }
    #expect(try KeybagFile.copy(in: folder).generation == 2)
    for name in home.names where name.hasPrefix("vault.db") { home.remove(name) }
    let vault = vault(of: home)
    #expect(throws: VaultError.self) { try vault.openByDevice() }
  }

  @Test("A vault without a password gets its database with the first password if the keybag still awaits one")
  func awaitingPassword() throws {
    let home = try Home()
    let folder = try KeybagFile.folder(home: home.path, owner: getuid())
    let vault = vault(of: home)
    let secret = try vault.device.newSecret(vault: home.keybag.vault, protector: Sodium.randomBytes(16))
    let created = try Home.open(home.keybag).removingPassword(secret, isAwaitingDatabase: true)
    try KeybagFile.replace(home.keybag, with: created, in: folder)
    let password = Home.password
    let next = try created.open(deviceSecret: secret.key)
      .rotated(password: password.span.bytes, isAwaitingDatabase: true, cost: Home.cost)
    #expect(next.keybag.awaitsDatabase && !next.keybag.isPasswordless)
    try KeybagFile.replace(created, with: next.keybag, in: folder)
    vault.refresh()
    let former = try next.formerTiers()
    #expect(try vault.recognises(next.tiers(), former: former))
    try vault.unlock(next.tiers(), former: former, opening: .everything, liftingLocks: true, mayCreate: true)
    #expect(vault.isUnlocked && vault.problemTexts.isEmpty && vault.rotation.epoch == 2 && !vault.rotation.isUnderWay)
    _ = try vault.add(["a": "b"], "secret")
  }

  @Test("A vault without a password has no keys of the classes that need a password, even after a change of keys")
  func noPasscode() throws {
    let vault = vault()
    try vault.openByDevice()
    #expect(!vault.hasKey(.whenPasscodeSetThisDeviceOnly) && vault.hasKey(.whenUnlockedThisDeviceOnly))
    vault.settleWhole()
    let keybag = try #require(vault.keybag)
    let secret = try vault.device.newSecret(vault: keybag.vault, protector: Sodium.randomBytes(16))
    let next = try keybag.open(deviceSecret: try vault.device.presentSecret().key).rotated(device: secret)
    try KeybagFile.replace(keybag, with: next.keybag, in: try KeybagFile.folder(home: home.path, owner: getuid()))
    vault.refresh()
    try vault.unlock(
      try next.tiers(), former: try next.formerTiers(), opening: .everything, liftingLocks: false, mayCreate: false)
    #expect(vault.rotation.epoch == 2 && vault.rotation.indexEpoch == 2)
    #expect(!vault.hasKey(.whenPasscodeSetThisDeviceOnly) && vault.hasKey(.whenUnlockedThisDeviceOnly))
  }
}
