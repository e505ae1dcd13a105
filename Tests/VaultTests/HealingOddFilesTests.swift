import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import Testing

@testable import LatchkeyVault

@Suite("An interrupted healing among odd files")
struct HealingOddFilesTests {
  private static let stamp = "20250101-000000"
  private let healed = "vault.db.healed-\(Self.stamp)"
  private let aside = "vault.db.damaged-\(Self.stamp)"

  /// The files that an interrupted exchange left.
  enum Remnant: CaseIterable {
    /// `vault.db` has two names.
    case linked
    /// The two names have become two files, as in a copy of the folder without its hard links.
    case copied
    /// The file system has no hard links.
    case moved
    /// Only the log was renamed, as after a power cut on a file system that writes names in any order.
    case onlyLog
    /// Another program opened `vault.db` and was killed, and so made another log.
    case otherLog
  }

  /// A home in which an exchange was interrupted. Only the renamed log and the healed database have the newest item, and `vault.db`
  /// is whole without it.
  private func interrupted(_ patient: Patient, _ remnant: Remnant = .linked) throws -> Home {
    let home: Home
    let whole: [UInt8]
    do {
      let vault = try patient.home.unlocked()
      vault.verifyToEnd()
      try vault.add(["n": "late"], "later", label: "later")
      home = try Home(copying: patient.home)
      vault.settleWhole()
      whole = patient.home.read("vault.db")
    }
    home.write(healed, whole)
    #expect(rename(home.folder + "/vault.db-wal", home.folder + "/\(aside)-wal") == 0)
    home.remove("vault.db-shm")
    let (own, kept) = (home.folder + "/vault.db", home.folder + "/" + aside)
    switch remnant {
    case .linked, .otherLog: #expect(link(own, kept) == 0)
    case .copied: home.write(aside, home.read("vault.db"))
    case .moved: #expect(rename(own, kept) == 0)
    case .onlyLog: break
    }
    if remnant == .otherLog { home.write("vault.db-wal", [1]) }
    return home
  }

  @Test("An interrupted healing is finished with every item that only the log had", arguments: Remnant.allCases)
  func finished(_ remnant: Remnant) throws {
    let patient = try Patient()
    let home = try interrupted(patient, remnant)
    let log = home.read(aside + "-wal")
    let vault = try Patient.opened(home)
    #expect(vault.problemTexts == [] && vault.healing.done?.wasFinished == true)
    #expect(try vault.ids(["n": "late"]).count == 1)
    #expect(!home.names.contains(healed) && (home.read(aside + "-wal") == log) as Bool)
    let database = vault.healing.done?.aside.flatMap(readFile)
    #expect((database == patient.database) as Bool)
  }

  @Test(
    "leaves a person's files alone whose names only begin as that of a healed database", arguments: Remnant.allCases)
  func names(_ remnant: Remnant) throws {
    let base = try interrupted(try Patient(), remnant)
    if remnant == .linked { base.remove(healed) }
    for rest in ["-wal", ".bak", "-2"] {
      let home = try Home(copying: base)
      home.write(healed + rest, [1, 2])
      home.write("vault.db.healed-mine", [3])
      _ = try Patient.opened(home)
      #expect(home.read(healed + rest) == [1, 2] && home.read("vault.db.healed-mine") == [3], "\(rest)")
    }
  }

  @Test("An interrupted healing names the file that is in the way of the lock")
  func lock() throws {
    let patient = try Patient()
    let home = try interrupted(patient)
    home.remove("keybag.lock")
    mkdir(home.folder + "/keybag.lock", 0o700)
    let vault = home.vault()
    #expect(
      vault.problemTexts == [
        "vault.db: the repaired database cannot take its place: keybag.lock: open: Is a directory; "
          + "run 'latchkey unlock' to try again"
      ])
    rmdir(home.folder + "/keybag.lock")
    try home.unlock(vault)
    #expect(vault.problemTexts == [])
  }

  @Test("An interrupted healing removes the report of the damage")
  func problems() throws {
    let patient = try Patient()
    let home = try Home(copying: patient.home)
    home.write("vault.db", [1])
    let vault = home.vault()
    vault.healing.noteRemedy(home.tiers.session)
    #expect(vault.problemTexts.contains { $0.contains("the next unlock with the password makes it again") })
    home.write(healed, patient.database)
    try home.unlock(vault)
    #expect(vault.healing.done?.wasFinished == true && vault.problemTexts == [])
  }

  @Test("A healing never takes the damaged database's log for the healed one's, even if that log cannot be removed")
  func log() throws {
    let shim = try #require(CrashTests.shim, "no C compiler")
    let patient = try Patient()
    let base = try interrupted(patient)
    base.write(healed, patient.database)
    #expect(rename(base.folder + "/\(aside)-wal", base.folder + "/vault.db-wal") == 0)
    var outcomes: Set<Bool> = []
    for failing in 1...10 {
      // Only the log has the newest item, and the log fits the healed database.
      let home = try Home(copying: base)
      home.remove(aside)
      #expect(link(home.folder + "/vault.db", home.folder + "/" + aside) == 0)
      let durable = CrashTests.newFolder()
      defer { removeTree(durable) }
      let process = try Command(
        Command.crashing, ["store", home.path, "1", "500"],
        input: plain(home.tiers.unlocked) + plain(home.tiers.session),
        environment: CrashTests.environment(shim, home, durable, dieAt: 0) + ["POWERCUT_FAIL_AT=\(failing)"])
      let lines = process.lines()
      _ = process.wait()
      let vault = try Patient.opened(home)
      let wasExchanged = home.names.contains(aside)
      outcomes.insert(wasExchanged)
      #expect(try vault.ids(["n": "late"]).isEmpty == wasExchanged, "failing at \(failing): \(lines)")
    }
    #expect(outcomes == [true, false])
  }
}
