import Glibc
import LatchkeyPosix
import LatchkeySQLite
import LatchkeyScratch
import LatchkeySodium
import Testing

@testable import LatchkeyKeybag
@testable import LatchkeyVault

/// Changes by an attacker who writes into the vault's folder while nobody is logged in. All check sums fit, because they need no
/// key.
@Suite struct TamperingTests {
  /// A home folder with a vault, whose daemon is not running.
  private final class Attacked {
    let scratch: ScratchFolder
    let tiers: TierKeys
    let keybag: Keybag
    static let machine = [UInt8](repeating: 7, count: 16)

    init() throws {
      try Sodium.initialize()
      scratch = try ScratchFolder()
      let opened = try Keybag.create(
        password: Array("password".utf8).span.bytes, cost: PasswordCost(passes: 3, memory: 32 << 20))
      tiers = try opened.tiers()
      keybag = opened.keybag
      let folder = try Folder.create(KeybagFile.folderNames, below: scratch.path, owner: getuid())
      try folder.write(KeybagFile.name, keybag.encoded.span.bytes, replacing: false)
    }

    func vault(on machine: [UInt8] = Attacked.machine) -> Vault {
      Vault(home: scratch.path, owner: getuid(), machine: machine)
    }

    func unlock(_ vault: Vault) throws {
      try vault.unlock(tiers, opening: .everything, liftingLocks: true, mayCreate: false)
    }

    func unlocked(on machine: [UInt8] = Attacked.machine) throws -> Vault {
      let vault = vault(on: machine)
      try unlock(vault)
      return vault
    }

    func folder() throws -> Folder { try KeybagFile.folder(home: scratch.path, owner: getuid()) }

    func withStore<Result>(_ body: (Store) throws -> Result) throws -> Result {
      let path = KeybagFile.folderPath(home: scratch.path) + "/" + KeybagFile.database
      return try body(try Store(path: path, vault: keybag.vault))
    }
  }

  private func store(
    _ server: String, in vault: Vault, _ accessibility: AccessibilityClass? = nil
  ) throws -> Int64 {
    try vault.writer.createItem(
      in: 1, ItemMetadata(label: server, attributes: ["server": server], contentType: "text/plain"),
      secret: try SecureBytes(copying: Array(server.utf8).span.bytes), accessibility: accessibility, replacing: false
    ).id
  }

  private static func isDamage(_ error: any Error) -> Bool {
    if case VaultError.damaged = error { true } else { false }
  }

  /// No key protects this column, so it must not decide how well new secrets are protected.
  @Test func aDefaultClassInTheFileIsNotFollowed() throws {
    let home = try Attacked()
    _ = try home.unlocked()
    try home.withStore { store in
      let row = try store.collections()[0]
      let forged = CollectionRow(
        id: row.id, uuid: row.uuid, ordinal: row.ordinal, epoch: row.epoch, label: row.label, locked: row.locked,
        passphrase: nil, defaultClass: .always, created: row.created, modified: row.modified)
      try store.database.statement("UPDATE collection SET default_class = 8, checksum = ?").bind(1, forged.checksum)
        .run()
    }
    let vault = try home.unlocked()
    let id = try store("bank.example", in: vault)
    #expect(try vault.reader.info(ofItem: id).accessibility == .whenUnlocked)
  }

  /// Otherwise a program would get another secret than its own, and send it to a server.
  @Test func anItemDoesNotAnswerToTheAttributesOfAnother() throws {
    let home = try Attacked()
    var vault: Vault? = try home.unlocked()
    let bank = try store("bank.example", in: vault!)
    let evil = try store("evil.example", in: vault!)
    vault = nil
    try home.withStore { store in
      var rows = (try #require(try store.item(bank)), try #require(try store.item(evil)))
      (rows.0.tokens, rows.1.tokens) = (rows.1.tokens, rows.0.tokens)
      try store.transaction { () throws(VaultError) in
        try store.update(rows.0)
        try store.update(rows.1)
      }
    }
    let again = try home.unlocked()
    #expect(try again.reader.search(.attributes(["server": "evil.example"])).map(\.id) == [bank])
    #expect(performing: { try again.reader.secret(ofItem: bank) }, throws: Self.isDamage)
  }

  /// A change of the index alone, before the vault has checked the whole index.
  @Test func anIndexThatNamesAnotherItemIsNotBelieved() throws {
    let home = try Attacked()
    var vault: Vault? = try home.unlocked()
    let bank = try store("bank.example", in: vault!)
    let evil = try store("evil.example", in: vault!)
    vault = nil
    try home.withStore { store in
      try store.database.execute("PRAGMA foreign_keys = OFF")
      try store.database.statement("UPDATE token SET item = item + 1000").run()
      try store.database.statement("UPDATE token SET item = ? WHERE item = ?").bind(1, bank).bind(2, evil + 1000).run()
      try store.database.statement("UPDATE token SET item = ? WHERE item = ?").bind(1, evil).bind(2, bank + 1000).run()
    }
    let again = try home.unlocked()
    #expect(performing: { try again.reader.search(.attributes(["server": "evil.example"])) }, throws: Self.isDamage)
    #expect(performing: { try again.reader.secret(ofItem: bank) }, throws: Self.isDamage)
  }

  /// A search with another index key finds nothing, and programs then store their items again.
  @Test func anotherDevicesIndexGivesWayToTheVaults() throws {
    let home = try Attacked()
    var vault: Vault? = try home.unlocked()
    let bank = try store("bank.example", in: vault!)
    vault = nil
    let folder = try home.folder()
    folder.remove(FileDeviceKey.name)
    let planted = try FileDeviceKey(folder: folder, machine: Attacked.machine, mayCreate: true)
    try home.withStore { store in
      let (_, row) = try DeviceShare.make(
        id: 7, vault: store.vault, device: planted, index: AttributeIndex(try Key.random()))
      try store.insert(row)
    }
    let again = try home.unlocked()
    #expect(try again.reader.search(.attributes(["server": "bank.example"])).map(\.id) == [bank])
    #expect(again.isDamaged)
    #expect(performing: { try store("new.example", in: again) }, throws: Self.isDamage)
  }

  /// A trigger would run at each write of the daemon.
  @Test func aDatabaseWithStatementsIsRefused() throws {
    let home = try Attacked()
    var vault: Vault? = try home.unlocked()
    _ = try store("bank.example", in: vault!)
    vault = nil
    try home.withStore { store in
      try store.database.execute(
        """
        CREATE TRIGGER keep BEFORE DELETE ON item BEGIN
          INSERT INTO access_log (created, entry, checksum) VALUES (0, old.secret, x'00'); END
        """)
    }
    #expect(performing: { try home.unlocked() }, throws: Self.isDamage)
  }

  /// On another machine, `always` items open by a copy under tier key C, which ends with the session.
  @Test func onAnotherMachineAlwaysItemsEndWithTheSession() throws {
    let home = try Attacked()
    var vault: Vault? = try home.unlocked()
    let id = try store("bank.example", in: vault!, .always)
    vault?.seal()
    #expect(try vault?.isReadable(id) == true)
    vault = nil
    let other = try home.unlocked(on: [UInt8](repeating: 8, count: 16))
    #expect(try other.isReadable(id))
    other.lock()
    #expect(try other.isReadable(id))
    other.seal()
    #expect(try !other.isReadable(id))
    #expect(performing: { try other.reader.secret(ofItem: id) }, throws: { ($0 as? VaultError) == .isLocked })
  }
}
