import LatchkeyKeybag
import LatchkeySQLite
import LatchkeySodium
import Testing

@testable import LatchkeyVault

@Suite("Files that are missing, newer or of another vault")
struct ForeignFileTests {
  let home: Home
  let good: [String: [UInt8]]
  let id: Int64

  init() throws {
    func fill(_ home: Home) throws -> Int64 {
      let vault = try home.unlocked()
      let id = try vault.add(["a": "1"], "s")
      vault.settleWhole()
      return id
    }
    home = try Home()
    id = try fill(home)
    home.remove("vault.db-wal")
    good = home.contents
  }

  /// The files of a home, except an empty log, which shows nothing.
  func contents(_ home: Home) -> [String: [UInt8]] {
    home.contents.filter { !($0.key.hasSuffix("-wal") && $0.value == []) }
  }

  /// Expects that every call fails, every file stays and the problem names `file`. With the good file back, everything must work.
  func expectRefused(_ file: String, put back: String? = nil) throws {
    let before = contents(home)
    let vault = home.vault()
    #expect(vault.problemTexts.count == 1)
    #expect(vault.problemTexts.first?.hasPrefix(file + ": ") == true, "\(vault.problemTexts)")
    #expect(throws: VaultError.self) {
      try vault.unlock(home.tiers, opening: .everything, liftingLocks: true, mayCreate: true)
    }
    #expect(throws: VaultError.self) { try vault.ids(["a": "1"]) }
    #expect(throws: VaultError.self) { try vault.ids([:]) }
    #expect(throws: VaultError.self) { try vault.secretText(id) }
    #expect(throws: VaultError.self) { try vault.add(["a": "1"], "new", replacing: true) }
    #expect(throws: VaultError.self) { try vault.collections.create(label: "x") }
    // The error names the file, and not the index, which is missing for the same reason.
    let refusal = #expect(throws: VaultError.self) { try vault.collections.alias("default") }
    #expect(vault.problemTexts.contains(refusal?.explanation ?? ""))
    #expect((contents(home) == before) as Bool)

    let name = back ?? file
    home.write(name, try #require(good[name]))
    vault.refresh()
    #expect(vault.problemTexts == [])
    try home.unlock(vault)
    #expect(try vault.secretText(id) == "s")
    #expect(try vault.ids(["a": "1"]) == [id])
    #expect(try vault.add(["b": "1"], Array("t".utf8)).isNew)
  }

  @Test(
    "a database of a newer or no format", arguments: ["user_version = 2", "user_version = 0", "application_id = 5"])
  func otherFormat(_ pragma: String) throws {
    do {
      let database = try Database(path: home.folder + "/vault.db", mode: .existing)
      try database.execute("PRAGMA " + pragma)
      try database.checkpoint()
    }
    home.remove("vault.db-wal")
    try expectRefused("vault.db")
  }

  @Test("a database of another program, which is not even converted")
  func otherProgram() throws {
    home.remove("vault.db")
    let path = home.folder + "/vault.db"
    // sqlite3 creates the file, because our own layer would create a write-ahead database.
    let made = Command.run("/usr/bin/sqlite3", [path, "CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine');"])
    try #require(made == 0)
    try expectRefused("vault.db")
  }

  @Test("a file that is not a database", arguments: [0, 1, 100, 5000])
  func noDatabase(_ size: Int) throws {
    home.write("vault.db", (0..<size).map { UInt8(truncatingIfNeeded: $0) })
    try expectRefused("vault.db")
  }

  @Test("a keybag of another vault")
  func otherKeybag() throws {
    home.write("keybag", try Home().read("keybag"))
    let before = contents(home)
    let vault = home.vault()
    #expect(vault.problemTexts.first?.contains("keybag") == true)
    #expect(throws: VaultError.self) {
      try vault.unlock(home.tiers, opening: .everything, liftingLocks: true, mayCreate: true)
    }
    #expect((contents(home) == before) as Bool)
    home.write("keybag", try #require(good["keybag"]))
    vault.refresh()
    try home.unlock(vault)
    #expect(try vault.secretText(id) == "s")
  }

  @Test("a keybag of another vault while the right one is in use")
  func keybagExchangedLater() throws {
    let vault = try home.unlocked()
    home.write("keybag", try Home().read("keybag"))
    vault.refresh()
    #expect(vault.problemTexts.contains { $0.hasPrefix("keybag: ") })
    #expect(try vault.secretText(id) == "s")
  }

  @Test("a missing or damaged keybag", arguments: ["missing", "empty", "cut", "flipped", "newer"])
  func keybag(_ how: String) throws {
    var bytes = try #require(good["keybag"])
    switch how {
    case "missing": break
    case "empty": bytes = []
    case "cut": bytes.removeLast(40)
    case "flipped": bytes[60] ^= 4
    default:
      bytes[8] = 2
      let sum = Sodium.checksum(bytes.span.bytes.extracting(droppingLast: 32))
      bytes.replaceSubrange((bytes.count - 32)..., with: sum)
    }
    home.write("keybag", bytes)
    if how == "missing" { home.remove("keybag") }
    try expectRefused("keybag")
  }

  @Test("a missing database of a vault that was used is reported as a loss")
  func missingDatabase() throws {
    let opened = try Home.open(home.keybag)
    let next = try opened.proving()
    #expect(next.generation == 2)
    home.write("keybag", next.encoded)
    home.remove("vault.db")
    try expectRefused("vault.db")
  }

  @Test("a database that is missing between creation and first unlock is created, and is not reported")
  func notYet() throws {
    let home = try Home()
    let vault = home.vault()
    #expect(vault.problemTexts == [])
    #expect(throws: VaultError.notCreated) { try vault.ids(["a": "1"]) }
    #expect(throws: VaultError.notCreated) { try vault.secretText(1) }
    #expect(home.names == ["keybag"])
    try home.unlock(vault)
    #expect(try vault.collections.alias("default") == 1)
    #expect(try vault.ids(["a": "1"]) == [])
    #expect(vault.problemTexts == [])
  }

  @Test("without any file there is no vault yet, and nothing is created")
  func nothing() throws {
    for name in home.names { home.remove(name) }
    let vault = home.vault()
    #expect(vault.problemTexts == [])
    #expect(throws: VaultError.notCreated) { try home.unlock(vault) }
    #expect(home.names == [])
  }

  @Test("a damaged device key keeps its bytes, and the other classes open", arguments: ["cut", "flipped", "empty"])
  func deviceKey(_ how: String) throws {
    var bytes = try #require(good["device.key"])
    switch how {
    case "cut": bytes.removeLast()
    case "flipped": bytes[20] ^= 1
    default: bytes = []
    }
    home.write("device.key", bytes)
    let vault = home.vault()
    #expect(vault.problemTexts.first?.hasPrefix("device.key: ") == true)
    #expect(throws: VaultError.self) { try vault.ids(["a": "1"]) }
    try home.unlock(vault)
    #expect(try vault.secretText(id) == "s")
    #expect(try vault.ids(["a": "1"]) == [id])
    #expect(home.read("device.key") == bytes)
  }
}
