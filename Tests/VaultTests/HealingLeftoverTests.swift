import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySQLite
import Testing

@testable import LatchkeyVault

@Suite("An interrupted healing")
struct HealingLeftoverTests {
  private static func zeroed(_ bytes: [UInt8], page: Int = 0) -> [UInt8] {
    var bytes = bytes
    for position in page * 4096..<(page + 1) * 4096 { bytes[position] = 0 }
    return bytes
  }

  /// A home with a damaged database and the patient's generation, and a whole database from before.
  private func damaged(_ patient: Patient) throws -> (home: Home, older: [UInt8]) {
    let home = try Home(copying: patient.home)
    home.remove("vault.db-wal")
    let older = readFile(home.generations + "/" + (namesInFolder(home.generations).first ?? "")) ?? []
    home.write("vault.db", Self.zeroed(patient.database))
    return (home, older)
  }

  @Test("An interrupted healing leaves no former copy for a later opening of the vault")
  func others() throws {
    let patient = try Patient()
    let (home, older) = try damaged(patient)
    // Leftovers of interrupted healings, as if somebody else had healed while this vault was open.
    let vault = home.vault()
    for day in 1...3 { home.write("vault.db.healed-2025010\(day)-000000", older) }
    try home.unlock(vault)
    #expect(vault.healing.done != nil)
    #expect(!home.names.contains { $0.hasPrefix("vault.db.healed-") })
    try vault.add(["n": "late"], "later", label: "later")
    vault.settleWhole()
    let next = try Home(copying: home)
    let again = try Patient.opened(next)
    #expect(try again.healing.done == nil && again.ids(["n": "late"]).count == 1)
    #expect(next.names.filter { $0.hasPrefix("vault.db.damaged-") }.count == 1)
  }

  @Test("An interrupted healing replaces no whole database, and keeps the items of its log", arguments: [false, true])
  func whole(_ hasLog: Bool) throws {
    let patient = try Patient()
    let crashed: Home
    do {
      let vault = try patient.home.unlocked()
      vault.verifyToEnd()
      try vault.add(["n": "late"], "later", label: "later")
      if !hasLog { vault.settleWhole() }
      crashed = try Home(copying: patient.home)
    }
    let older = readFile(crashed.generations + "/" + (namesInFolder(crashed.generations).first ?? "")) ?? []
    crashed.write("vault.db.healed-20250101-000000", older)
    crashed.write("vault.db.healed-20250102-000000", [1, 2, 3])
    let vault = try Patient.opened(crashed)
    #expect(try vault.healing.done == nil && vault.ids(["n": "late"]).count == 1)
    #expect(!crashed.names.contains { $0.hasPrefix("vault.db.healed-") || $0.hasPrefix("vault.db.damaged-") })
  }

  @Test("A healing is finished if the exchange had begun, even if the damaged database looks whole without its log")
  func begun() throws {
    let patient = try Patient()
    let (home, _) = try damaged(patient)
    home.write("vault.db", patient.database)
    home.write("vault.db.healed-20250101-000000", patient.database)
    #expect(link(home.folder + "/vault.db", home.folder + "/vault.db.damaged-20250101-000000") == 0)
    let vault = home.vault()
    #expect(vault.healing.done?.wasFinished == true)
    #expect(!home.names.contains { $0.hasPrefix("vault.db.healed-") })
    #expect(home.names.contains("vault.db.damaged-20250101-000000"))
  }

  /// A home in which an exchange was interrupted. The database has already lost its log, which has the newest item.
  ///
  /// - Parameters:
  ///   - hasLinks: whether the file system has hard links.
  ///   - healed: the healed database.
  private func interrupted(_ patient: Patient, hasLinks: Bool = true, healed: [UInt8]) throws -> Home {
    let home: Home
    do {
      let vault = try patient.home.unlocked()
      vault.verifyToEnd()
      try vault.add(["n": "late"], "later", label: "later")
      home = try Home(copying: patient.home)
    }
    home.write("vault.db.healed-20250101-000000", healed)
    #expect(rename(home.folder + "/vault.db-wal", home.folder + "/vault.db.damaged-20250101-000000-wal") == 0)
    home.remove("vault.db-shm")
    let (own, kept) = (home.folder + "/vault.db", home.folder + "/vault.db.damaged-20250101-000000")
    #expect((hasLinks ? link(own, kept) : rename(own, kept)) == 0)
    return home
  }

  @Test("A healing keeps the database closed until the other process has written the vault's files, and says so")
  func closed() throws {
    let patient = try Patient()
    let home = try interrupted(patient, healed: patient.database)
    let vault: Vault
    do {
      let lock = try KeybagFile.lock(try KeybagFile.folder(home: home.path, owner: getuid()))
      defer { extendLifetime(lock) }
      let before = home.contents
      vault = home.vault()
      #expect(
        vault.problemTexts == [
          "vault.db: the repaired database cannot take its place: another process writes the vault's files; "
            + "run 'latchkey unlock' to try again"
        ])
      #expect(throws: VaultError.self) { try home.unlock(vault) }
      #expect(!vault.hasDatabase && vault.healing.done == nil && (home.contents == before) as Bool)
    }
    try home.unlock(vault)
    vault.verifyToEnd()
    #expect(try vault.healing.done?.wasFinished == true && patient.complaint(vault, vault.healing.done) == nil)
    #expect(home.names.filter { $0.hasPrefix("vault.db.damaged-") }.count == 2)
  }

  @Test("A healing gives the damaged database its log back if the healed one is damaged too", arguments: [true, false])
  func undone(_ hasLinks: Bool) throws {
    let patient = try Patient()
    let home = try interrupted(patient, hasLinks: hasLinks, healed: Self.zeroed(patient.database, page: 5))
    let vault = try Patient.opened(home)
    #expect(try vault.healing.done == nil && vault.problemTexts == [] && vault.ids(["n": "late"]).count == 1)
    #expect(!home.names.contains { $0.hasPrefix("vault.db.healed-") || $0.hasPrefix("vault.db.damaged-") })
  }

  /// As after a copy of the folder without its hard links.
  @Test("A healing gives the damaged database another name if the name is taken, and says so if all are taken")
  func taken() throws {
    let patient = try Patient()
    let (home, older) = try damaged(patient)
    let bytes = home.read("vault.db")
    let aside = "vault.db.damaged-20250101-000000"
    home.write("vault.db.healed-20250101-000000", older)
    home.write(aside, [1])
    for number in 2...9 { mkdir(home.folder + "/\(aside)-\(number)", 0o700) }
    let vault = home.vault()
    #expect(throws: VaultError.self) { try home.unlock(vault) }
    #expect(vault.problemTexts.count == 1 && vault.problemTexts[0].contains("cannot take its place: link: File exists"))
    #expect((home.read("vault.db") == bytes) as Bool && vault.healing.done == nil)
    rmdir(home.folder + "/\(aside)-7")
    try home.unlock(vault)
    #expect(vault.healing.done?.wasFinished == true && vault.healing.done?.aside == home.folder + "/\(aside)-7")
    #expect(vault.problemTexts == [] && home.read(aside) == [1])
    #expect((home.read(aside + "-7") == bytes) as Bool)
  }

  /// A copy of the home that keeps the two names of one file.
  private func copy(_ home: Home) throws -> Home {
    let copy = try Home(copying: home)
    let folder = try KeybagFile.folder(home: home.path, owner: getuid())
    for own in ["vault.db", "vault.db-wal"] {
      for other in home.names where other != own && folder.areSame(own, other) {
        copy.remove(other)
        #expect(link(copy.folder + "/" + own, copy.folder + "/" + other) == 0)
      }
    }
    return copy
  }

  @Test(
    "An interrupted healing loses no acknowledged change between a kill and the end, even if a disk fails meanwhile",
    arguments: Cuts.each ? [1, 3] : [3])
  func killedAndFailed(_ failures: Int) throws {
    let shim = try #require(CrashTests.shim, "no C compiler")
    let patient = try Patient()
    // The database is whole even without its log.
    let damaged = try Home(copying: patient.home)
    damaged.remove("vault.db-wal")
    do {
      let database = try Database(path: damaged.folder + "/vault.db", mode: .existing)
      try database.execute("UPDATE collection SET checksum = zeroblob(32) WHERE id = 1")
    }
    let (bytes, log) = (damaged.read("vault.db"), damaged.read("vault.db-wal"))
    let keys = plain(damaged.tiers.unlocked) + plain(damaged.tiers.session)
    func run(
      _ words: [String], _ home: Home, dieAt: Int = 0, _ settings: [String] = []
    ) throws -> (status: Int32, lines: [String]) {
      let durable = CrashTests.newFolder()
      defer { removeTree(durable) }
      let process = try Command(
        Command.crashing, words, input: keys,
        environment: CrashTests.environment(shim, home, durable, dieAt: dieAt) + settings)
      let lines = process.lines()
      return (process.wait(), lines)
    }
    var (kills, refusals, stores) = (0, 0, 0)
    for call in stride(from: 1, through: Int.max, by: Cuts.each ? 1 : 2) {
      let killed = try Home(copying: damaged)
      let status = try run(["heal", killed.path], killed, dieAt: call).status
      if status == 0 { break }
      guard killed.names.contains(where: { $0.hasPrefix("vault.db.healed-") }) else { continue }
      kills += 1
      for failing in 1...12 where Cuts.takes(failing + call) {
        let home = try copy(killed)
        let told = try run(
          ["store", home.path, "2", "500"], home, ["POWERCUT_FAIL_AT=\(failing)", "POWERCUT_FAILURES=\(failures)"])
        if told.status != 0 { refusals += 1 }
        let vault = try Patient.opened(home)
        let place: Comment = "killed before \(call), failing at \(failing): \(told.lines)"
        #expect(vault.problemTexts == [], place)
        for number in 500...501 where told.lines.contains("stored \(number)") {
          stores += 1
          #expect(try vault.ids(["n": "\(number)", "app": "crash"]).count == 1, place)
        }
        #expect(try vault.ids(["app": "all"]).count >= patient.wanted.count - 1, place)
        let asides = home.names.filter { $0.hasPrefix("vault.db.damaged-") }
        #expect(asides.count == 2, place)
        #expect((asides.first.map(home.read) == bytes) as Bool && (asides.last.map(home.read) == log) as Bool, place)
      }
    }
    #expect(
      kills > (Cuts.each ? 5 : 1) && stores > Cuts.enough(20) && (failures == 1 || refusals > (Cuts.each ? 10 : 0)),
      "\(kills), \(refusals), \(stores)")
  }

  @Test("A healing is reported in the session in which the next process finishes it, and not in later ones")
  func news() throws {
    let patient = try Patient()
    let (home, older) = try damaged(patient)
    home.write("vault.db.healed-20250101-000000", older)
    let vault = home.vault()
    let healing = try #require(vault.healing.done)
    #expect(healing.wasFinished && healing.loss == .damaged && healing.mayMissItems)
    #expect(healing.aside == home.folder + "/vault.db.damaged-20250101-000000")
    #expect(healing.explanation.contains("may be missing"))
    // A look at the report before the login does not remove the report.
    vault.endSession()
    try home.unlock(vault)
    #expect(vault.healing.done == healing)
    vault.endSession()
    #expect(vault.healing.done == nil)
  }

  @Test("An interrupted healing removes its own copy if the exchange fails, and leaves everything as it was")
  func ownCopy() throws {
    let patient = try Patient()
    let (home, _) = try damaged(patient)
    let bytes = home.read("vault.db")
    let vault = home.vault()
    // A file cannot replace a folder, so the damaged database cannot be renamed.
    let now = Process.stamp
    var obstacles: [String] = []
    for second in 0..<60 {
      let name = "vault.db.damaged-" + Self.stamp(now, plus: second)
      mkdir(home.folder + "/" + name, 0o700)
      obstacles.append(name)
    }
    #expect(throws: VaultError.self) { try home.unlock(vault) }
    #expect(vault.healing.done == nil && vault.problemTexts.contains { $0.contains("cannot be repaired") })
    #expect(!home.names.contains { $0.hasPrefix("vault.db.healed-") || $0.hasPrefix("vault.db.healing") })
    #expect((home.read("vault.db") == bytes) as Bool)
    for name in obstacles { rmdir(home.folder + "/" + name) }
    let later = try Patient.opened(home)
    #expect(try later.healing.done != nil && patient.complaint(later, later.healing.done) == nil)
  }

  /// The stamp that is `seconds` later than `stamp`, on the same date.
  private static func stamp(_ stamp: String, plus seconds: Int) -> String {
    let day = stamp.split(separator: "-")[0]
    let clock = Int(stamp.split(separator: "-")[1]) ?? 0
    let total = clock / 10000 * 3600 + clock / 100 % 100 * 60 + clock % 100 + seconds
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(day)-\(two(total / 3600 % 24))\(two(total / 60 % 60))\(two(total % 60))"
  }

  @Test("An interrupted healing waits for another process that heals the same files")
  func twoDaemons() throws {
    let patient = try Patient()
    let (home, older) = try damaged(patient)
    let vault = home.vault()
    let healing = home.folder + "/vault.db.healing"
    do {
      let lock = try KeybagFile.lock(try KeybagFile.folder(home: home.path, owner: getuid()))
      defer { extendLifetime(lock) }
      // The file that the other process is writing.
      writeFile(healing, [7])
      home.write("vault.db.healed-20250101-000000", older)
      #expect(throws: VaultError.self) { try home.unlock(vault) }
      #expect(vault.healing.done == nil && readFile(healing) == [7])
      #expect(home.names.contains("vault.db.healed-20250101-000000"))
      unlink(home.folder + "/vault.db.healed-20250101-000000")
    }
    try home.unlock(vault)
    #expect(try vault.healing.done?.wasFinished == false && patient.complaint(vault, vault.healing.done) == nil)
  }

  @Test("A healing leaves an explicitly locked item locked, whether the vault heals or not", arguments: [true, false])
  func ownLocks(_ heals: Bool) throws {
    let patient = try Patient()
    let home = try Home(copying: patient.home)
    home.remove("vault.db-wal")
    let vault = try home.unlocked()
    try vault.writer.lockItem(1)
    vault.database.note(.damaged(.verbatim("vault.db: found damaged")))
    if !heals {
      mkdir(home.folder + "/vault.db.healing", 0o700)
      writeFile(home.folder + "/vault.db.healing/x", [1])
    }
    try home.unlock(vault, liftingLocks: false)
    #expect((vault.healing.done != nil) == heals)
    #expect(throws: VaultError.isLockedByItself) { try vault.secretText(1) }
    try home.unlock(vault)
    #expect(try vault.secretText(1).hasPrefix("old"))
  }

  @Test("An interrupted healing does not begin if only the log has a newer program's mark")
  func newerLog() throws {
    let patient = try Patient()
    let home = try Home(copying: patient.home)
    home.remove("vault.db-wal")
    do {
      let database = try Database(path: home.folder + "/vault.db", mode: .existing)
      try database.execute("PRAGMA user_version = 9")
    }
    #expect(home.read("vault.db-wal").count > 4096 && home.read("vault.db")[60..<64].allSatisfy { $0 == 0 } == false)
    let before = home.read("vault.db")
    let vault = home.vault()
    #expect(throws: VaultError.self) { try home.unlock(vault) }
    #expect(vault.healing.done == nil && vault.problemTexts.contains { $0.contains("newer than this program") })
    #expect((home.read("vault.db") == before) as Bool)
    #expect(!home.names.contains { $0.hasPrefix("vault.db.damaged-") })
  }
}
