import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import Testing

@testable import LatchkeyVault

@Suite("A vault that is set aside")
struct AsideTests {
  private let name = KeybagFile.asidePrefix + "20261122-030000"

  @Test("A vault that is set aside has all its items at the new place, and the vault object knows none of them")
  func aside() throws {
    let home = try Home()
    let vault = try home.unlocked()
    _ = try vault.add(["a": "b"], "secret")
    let before = home.names
    #expect(vault.isThere)
    let place = try vault.setAside(as: name)
    #expect(place == KeybagFile.sharePath(home: home.path) + "/" + name)
    #expect(!vault.isThere && !vault.hasKeybag && !vault.hasDatabase && !vault.isUnlocked && vault.problemTexts.isEmpty)
    #expect(vault.collections.ids.isEmpty && namesInFolder(home.folder).isEmpty)
    #expect(Set(before).subtracting(namesInFolder(place)).isSubset(of: ["vault.db-wal", "vault.db-shm"]))
    #expect(throws: VaultError.notCreated) { try home.unlock(vault) }

    // Another vault takes the place, under the same object.
    let other = try Home()
    let share = KeybagFile.sharePath(home: home.path)
    #expect(rename(other.folder, share + "/latchkey") == 0)
    try vault.unlock(other.tiers, opening: .everything, liftingLocks: true, mayCreate: true)
    #expect(try vault.reader.itemCount() == 0 && vault.isUnlocked)
    _ = try vault.add(["a": "b"], "another")
    // A client may still have the path of the former vault's item. That path must not lead to the new item.
    #expect(try vault.reader.lastItem() == 2)

    // The first vault comes back.
    _ = try vault.setAside(as: name + "-2")
    #expect(rename(place, share + "/latchkey") == 0)
    try home.unlock(vault)
    #expect(try vault.reader.itemCount() == 1 && vault.problemTexts.isEmpty)
  }

  @Test("The vault does not let the daemon promise a system account a new one", arguments: [0, Account.firstPersonUID])
  func lack(_ owner: uid_t) {
    let vault = Vault(home: "/nonexistent", owner: owner, machine: Home.machine)
    let isPerson = owner > 0
    #expect(vault.lack == .vault(isPerson ? .notCreated : .systemAccount))
  }

  enum Counter: CaseIterable { case damaged, unreadable, atTheEnd }

  @Test("The vault leaves its items' numbers unused, even if nobody knows the numbers", arguments: Counter.allCases)
  func unknownNumbers(_ counter: Counter) throws {
    let home = try Home()
    do { _ = try home.unlocked().add(["a": "b"], "secret") }
    let file = home.folder + "/vault.db"
    switch counter {
    case .damaged: break
    case .unreadable: #expect(truncate(file, 100) == 0)
    case .atTheEnd:
      let store = try Store(path: file, vault: home.keybag.vault)
      try store.database.execute("UPDATE sqlite_sequence SET seq = \(Int64(1) << 62) WHERE name = 'item'")
    }
    let vault = home.vault()
    if counter == .damaged { vault.database.note(.damaged(.verbatim("vault.db: for the sake of this test"))) }
    let other = try Home()
    _ = try vault.setAside(as: name)
    #expect(rename(other.folder, KeybagFile.sharePath(home: home.path) + "/latchkey") == 0)
    try vault.unlock(other.tiers, opening: .everything, liftingLocks: true, mayCreate: true)
    _ = try vault.add(["a": "b"], "another")
    // The new number is far from the numbers of any vault, with as many free numbers above it.
    #expect((1 << 51..<1 << 53).contains(try vault.reader.lastItem()))
  }

  @Test("The vault gets a number if the new name is taken, and stays in place and opens again after ten taken names")
  func taken() throws {
    let home = try Home()
    let vault = try home.unlocked()
    _ = try vault.add(["a": "b"], "secret")
    let share = KeybagFile.sharePath(home: home.path)
    #expect(mkdir(share + "/" + name, 0o700) == 0)
    let place = try vault.setAside(as: name)
    #expect(place == share + "/" + name + "-2" && !vault.isThere)
    #expect(rename(place, share + "/latchkey") == 0)
    try home.unlock(vault)
    for number in 2...9 { #expect(mkdir(share + "/\(name)-\(number)", 0o700) == 0) }
    #expect(throws: VaultError.self) { try vault.setAside(as: name) }
    #expect(vault.isThere && vault.hasDatabase && !vault.isUnlocked)
    try home.unlock(vault)
    #expect(try vault.reader.itemCount() == 1)
    #expect(namesInFolder(share + "/" + name).isEmpty)
  }

  @Test("A vault that is set aside waits for a process that writes the keybag, and reports a wait that takes too long")
  func busy() throws {
    let home = try Home()
    let vault = try home.unlocked()
    let folder = try KeybagFile.folder(home: home.path, owner: getuid())
    // As in FolderTests, a child that another test has just forked may still share the earlier lock.
    let lock = try folder.lock("keybag.lock", deadline: 60_000)
    #expect(throws: VaultError.self) { try vault.setAside(as: name) }
    extendLifetime(lock)
    #expect(vault.isThere)
  }

  @Test("The vault is missing without its folder, but not if the way to it cannot be opened", arguments: [1, 2, 3])
  func obstacle(depth: Int) throws {
    let home = try Home()
    let place = ([home.path] + KeybagFile.folderNames.prefix(depth)).joined(separator: "/")
    #expect(rename(place, home.path + "/away") == 0)
    let vault = home.vault()
    #expect(vault.isMissing)
    #expect(symlink(home.path + "/nowhere", place) == 0)
    #expect(!vault.isMissing)
    #expect(unlink(place) == 0 && mknod(place, S_IFREG | 0o600, 0) == 0)
    #expect(!vault.isMissing)
    #expect(unlink(place) == 0 && symlink(home.path + "/away", place) == 0)
    #expect(!vault.isMissing)
  }
}
