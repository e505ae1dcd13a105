import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium
import LatchkeyStandInDevice
import Testing

@testable import LatchkeyVault

@Suite("A damaged keybag")
struct KeybagHealingTests {
  private let home: Home

  /// A vault with an item and a generation, and a keybag that has its copy.
  init() throws {
    home = try Home()
    let vault = try home.unlocked()
    try vault.add(["n": "1"], "first")
    vault.settleWhole()
    vault.keepWholeHistory()
    KeybagFile.keepCopy(of: home.keybag, in: try KeybagFile.folder(home: home.path, owner: getuid()))
  }

  private func asides(_ home: Home) -> [String] { home.names.filter { $0.hasPrefix(KeybagFile.damagedPrefix) } }

  /// The fault of a vault whose keybag was healed; nil if everything is there.
  private func complaint(_ home: Home) throws -> String? {
    let vault = home.vault()
    if vault.problemTexts.contains(where: { $0.hasPrefix("keybag") }) { return "\(vault.problemTexts)" }
    try home.unlock(vault)
    if vault.problemTexts != [] { return "\(vault.problemTexts)" }
    guard try vault.ids(["n": "1"]).count == 1 else { return "the item is not there" }
    guard home.read("keybag") == home.keybag.encoded else { return "another keybag" }
    return nil
  }

  @Test("A damaged keybag heals when the vault is checked, and the report appears once")
  func heals() throws {
    for bytes in [nil, [], Array(home.keybag.encoded.prefix(300)), [UInt8](repeating: 0, count: 4096)] as [[UInt8]?] {
      let copy = try Home(copying: home)
      if let bytes { copy.write("keybag", bytes) } else { copy.remove("keybag") }
      let aside: String?
      do {
        let vault = copy.vault()
        let healing = try #require(vault.keybagHealing)
        #expect(vault.problemTexts == [] && (healing.aside == nil) == (bytes == nil))
        aside = healing.aside
      }
      #expect(try complaint(copy) == nil)
      if let aside { #expect(copy.read(aside) == bytes) }
      let later = copy.vault()
      #expect(later.keybagHealing == nil && later.healing.filesAside == (aside.map { [$0] } ?? []))
    }
  }

  @Test("A damaged keybag heals during a session, and the next request reports it")
  func inSession() throws {
    let vault = try home.unlocked()
    let told = ToldVault()
    vault.delegate = told
    home.write("keybag", [1, 2, 3])
    vault.refresh()
    #expect(told.keybagHealings.count == 1 && vault.problemTexts == [] && vault.keybag == home.keybag)
    vault.refresh()
    #expect(told.keybagHealings.count == 1)
    vault.seal()
    vault.endSession()
    #expect(vault.keybagHealing == nil)
  }

  @Test("A damaged keybag is reported in the next session if it heals before any login")
  func beforeLogin() throws {
    home.remove("keybag")
    let vault = home.vault()
    vault.endSession()
    #expect(vault.keybagHealing != nil)
    try home.unlock(vault)
    vault.seal()
    vault.endSession()
    #expect(vault.keybagHealing == nil)
  }

  @Test("A keybag of another vault gives way to the database's keybag, whatever the state of the database")
  func anotherVaults() throws {
    let other = try Home()
    _ = try other.unlocked()
    var damaged = home.read("vault.db")
    for position in 0..<4096 { damaged[position] = 0 }
    for database in [home.read("vault.db"), damaged, nil] {
      let copy = try Home(copying: home)
      copy.write("keybag", other.read("keybag"))
      if let database { copy.write("vault.db", database) } else { copy.remove("vault.db") }
      let vault = copy.vault()
      let aside = try #require(vault.keybagHealing?.aside)
      #expect(aside.hasPrefix(KeybagFile.foreignPrefix) && copy.read(aside) == other.read("keybag"))
      try copy.unlock(vault)
      #expect(try vault.ids(["n": "1"]).count == 1)
    }
    // The other keybag may be the last copy of its vault, so no change of this vault erases it.
    let one = try Home(copying: home)
    one.write("keybag", other.read("keybag"))
    let aside = try #require(one.vault().keybagHealing?.aside)
    one.write("keybag.damaged-1", [1])
    let password = Home.password
    let next = try Home.open(one.keybag).rotated(
      password: password.span.bytes, cost: Home.cost)
    try KeybagFile.replace(one.keybag, with: next.keybag, in: try KeybagFile.folder(home: one.path, owner: getuid()))
    #expect(one.read(aside) == other.read("keybag") && !one.names.contains("keybag.damaged-1"))
    // A whole other vault, with all its files.
    let whole = try Home(copying: home)
    for name in ["keybag", "vault.db"] { whole.write(name, other.read(name)) }
    whole.remove("vault.db-wal")
    #expect(whole.vault().keybagHealing == nil && asides(whole) == [])
  }

  @Test("A damaged keybag and a missing database heal together")
  func both() throws {
    let copy = try Home(copying: home)
    for name in copy.names where name.hasPrefix("vault.db") || name == "keybag" { copy.remove(name) }
    #expect(try complaint(copy) == nil)
  }

  @Test("A keybag older than the newest one is used as it is, and reported if its generation is remembered")
  func older() throws {
    let device = StandInDevice(seed: 5)
    device.memory = StandInMemory()
    func vault(_ home: Home) -> Vault {
      Vault(home: home.path, owner: getuid(), machine: Home.machine) { () throws(DeviceKeyError) in device }
    }
    let old = home.keybag.encoded
    let folder = try KeybagFile.folder(home: home.path, owner: getuid())
    try KeybagFile.replace(try KeybagFile.load(from: folder), with: try Home.open(home.keybag).confirming(), in: folder)
    let newest = home.read("keybag")
    do { try home.unlock(vault(home)) }
    home.write("keybag", old)
    do {
      let opened = vault(home)
      try home.unlock(opened)
      #expect(opened.keybagHealing == nil && opened.olderFiles.found == .keybag && home.read("keybag") == old)
    }
    #expect(home.read("keybag.copy") == newest)
    // The newest keybag comes back from the copy.
    home.write("keybag", newest)
    do { try home.unlock(vault(home)) }
    home.write("keybag", [])
    home.write("keybag.copy", old)
    let healed = vault(home)
    try home.unlock(healed)
    #expect(healed.keybagHealing != nil && healed.olderFiles.found == .keybag)
  }

  @Test("A keybag heals as a whole or not at all, before whichever file operation a kill or a power cut comes")
  func killed() throws {
    let shim = try #require(CrashTests.shim, "no C compiler")
    let damaged = Array(home.keybag.encoded.reversed())
    var points = 0
    for call in 1... {
      let copy = try Home(copying: home)
      copy.write("keybag", damaged)
      let (before, inodes) = (try Home(copying: copy), inodes(copy))
      let durable = CrashTests.newFolder()
      defer { removeTree(durable) }
      let process = try Command(
        Command.crashing, ["mend", copy.path],
        environment: CrashTests.environment(shim, copy, durable, dieAt: call))
      let lines = process.lines()
      let status = process.wait()
      for after in [copy, try cut(before, inodes, durable)] {
        #expect(try complaint(after) == nil, "call \(call)")
        #expect(asides(after).map { after.read($0) } == [damaged], "call \(call)")
        #expect(after.names.filter { $0.hasSuffix(".new") } == [], "call \(call)")
      }
      if status == 0 {
        #expect(lines == ["healed"])
        break
      }
      try #require(status == -SIGKILL, "\(lines)")
      points = call
    }
    #expect(points >= 4)
  }

  @Test("A keybag is never lost together with its copy, and the copy never differs, wherever a replacement ends")
  func replaced() throws {
    let shim = try #require(CrashTests.shim, "no C compiler")
    var points = 0
    var copies: Set<Bool> = []
    for call in 1... {
      let changed = try Home(copying: home)
      let inodes = inodes(changed)
      let durable = CrashTests.newFolder()
      defer { removeTree(durable) }
      let process = try Command(
        Command.crashing, ["replace", changed.path, "2"], input: Home.password,
        environment: CrashTests.environment(shim, changed, durable, dieAt: call))
      let acknowledged = process.lines().last.flatMap { UInt64($0.split(separator: " ").last ?? "") } ?? 1
      let status = process.wait()
      for after in [changed, try cut(home, inodes, durable)] {
        let keybag = try Keybag(decoding: after.read("keybag"))
        #expect(keybag.generation >= acknowledged, "call \(call)")
        let hasCopy = after.names.contains("keybag.copy")
        copies.insert(hasCopy)
        if hasCopy { #expect((after.read("keybag.copy") == keybag.encoded) as Bool, "call \(call)") }
      }
      if status == 0 { break }
      try #require(status == -SIGKILL)
      points = call
    }
    #expect(points > 10 && copies == [true, false])
  }

  /// The contents of the files in the vault's folder, by inode number.
  private func inodes(_ home: Home) -> [String: [UInt8]] {
    var contents: [String: [UInt8]] = [:]
    for name in home.names {
      var status = stat()
      if stat(home.folder + "/" + name, &status) == 0 { contents["\(status.st_ino)"] = home.read(name) }
    }
    return contents
  }

  /// The vault's folder as a power cut leaves it: only synchronised names and contents.
  ///
  /// - Parameter inodes: the contents of the files before the process began.
  private func cut(_ before: Home, _ inodes: [String: [UInt8]], _ durable: String) throws -> Home {
    let after = try Home(copying: before)
    guard let list = readFile(durable + "/names") else { return after }
    for name in after.names where name != History.folderName { after.remove(name) }
    for line in String(decoding: list, as: UTF8.self).split(separator: "\n") {
      let parts = line.split(separator: " ", maxSplits: 1)
      after.write(String(parts[1]), readFile(durable + "/" + parts[0]) ?? inodes[String(parts[0])] ?? [])
    }
    return after
  }
}
