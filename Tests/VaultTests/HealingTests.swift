import Glibc
import LatchkeyKeybag
import LatchkeyStandInDevice
import Testing

@testable import LatchkeyVault

@Suite("A damaged database")
struct HealingTests {
  /// A vault with one item, which is in a generation.
  private func withGeneration() throws -> (Home, Vault) {
    let home = try Home()
    let vault = try home.unlocked()
    try vault.add(["n": "1"], "kept", label: "kept")
    vault.settleWhole()
    try #require(vault.keepWholeHistory().count == 1)
    return (home, vault)
  }

  @Test("A damaged database gives no new item the number of a lost one, even if it heals twice from one generation")
  func numbersAfterTwoLosses() throws {
    let (home, first) = try withGeneration()
    var vault = first
    var given: Set<Int64> = []
    for turn in 0..<4 {
      given.insert(try vault.add(["turn": "\(turn)"], "lost", label: "lost"))
      home.remove("vault.db")
      home.remove("vault.db-wal")
      vault = home.vault()
      try home.unlock(vault)
      #expect(vault.healing.done?.loss == .missing)
    }
    #expect(given.count == 4)
  }

  @Test("A damaged database heals even with a counter near its end", arguments: ["item", "collection"], [true, false])
  func counterNearItsEnd(_ table: String, _ isLost: Bool) throws {
    let home = try Home()
    do {
      let vault = try home.unlocked()
      try vault.add(["n": "1"], "kept", label: "kept")
      let end = Store.numberLimit - 10
      try vault.database.ready().database.execute("UPDATE sqlite_sequence SET seq = \(end) WHERE name = '\(table)'")
      vault.settleWhole()
      try #require(vault.keepWholeHistory().count == 1)
    }
    let rest = isLost ? 0 : home.read("vault.db").count / 2
    if isLost { home.remove("vault.db") } else { try #require(truncate(home.folder + "/vault.db", off_t(rest)) == 0) }
    let vault = home.vault()
    try home.unlock(vault)
    vault.verifyToEnd()
    #expect(!vault.isDamaged)
    #expect(try vault.secretText(1) == "kept")
    try vault.add(["n": "2"], "more", label: "more")
  }

  /// SQLite still reads its cached pages, and the next checkpoint would fill the hole with zeros.
  @Test("A database truncated while it was open heals at the next unlock", arguments: [0, 1], ["", "with a log"])
  func cutWhileOpen(_ halves: Int, _ log: String) throws {
    let home = try Home()
    let vault = try home.unlocked()
    let secret = String(repeating: "s", count: 9000)
    let ids = try (0..<12).map { try vault.add(["n": "\($0)"], secret, label: "item \($0)") }
    vault.settleWhole()
    try #require(vault.keepWholeHistory().count == 1)
    if !log.isEmpty { try vault.add(["n": "late"], "late", label: "late") }
    let rest = home.read("vault.db").count / 2 * halves
    try #require(truncate(home.folder + "/vault.db", off_t(rest)) == 0)
    vault.settle()
    #expect(home.read("vault.db").count == rest)
    let cut = VaultError.damaged(.of(.database, .vault(.cutOff)))
    #expect(throws: cut) { try vault.add(["n": "more"], "more", label: "more") }
    #expect(vault.problemTexts.contains(cut.explanation))
    vault.lock()
    try home.unlock(vault)
    vault.verifyToEnd()
    #expect(!vault.isDamaged && vault.healing.done?.loss == .damaged)
    for id in ids { #expect(try vault.secretText(id) == secret) }
  }

  @Test("A damaged database stays as it is if it was truncated during the walk, which reads the rest from memory")
  func cutDuringTheWalk() throws {
    let home = try Home()
    do {
      let vault = try home.unlocked()
      for number in 0..<12 { try vault.add(["n": "\(number)"], String(repeating: "s", count: 9000), label: "item") }
      vault.settleWhole()
    }
    let rest: Int
    do {
      let vault = try home.unlocked()
      #expect(vault.verifyStep())
      try vault.add(["n": "late"], "late", label: "late")
      rest = home.read("vault.db").count / 2
      try #require(truncate(home.folder + "/vault.db", off_t(rest)) == 0)
      vault.refresh()
      vault.verifyToEnd()
      #expect(vault.isDamaged)
    }
    #expect(home.read("vault.db").count == rest)
    #expect(!home.read("vault.db-wal").isEmpty)
  }

  @Test("A damaged database does not count as truncated if the size of its file cannot be read")
  func sizeUnknown() async {
    // The test runs in a process of its own, because another test may get the number of the closed descriptor.
    await #expect(processExitsWith: .success) {
      let home = try Home()
      let vault = try home.unlocked()
      try vault.add(["n": "1"], "one", label: "one")
      vault.settleWhole()
      let path = Array((home.folder + "/vault.db").utf8)
      let open = namesInFolder("/proc/self/fd").compactMap { Int32($0) }.first { number in
        var target = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/fd/\(number)", &target, target.count)
        return count > 0 && target[..<count].map { UInt8(bitPattern: $0) } == path
      }
      let file = try #require(open)
      let kept = dup(file)
      // fstat(2) fails, as on a share that does not answer.
      close(file)
      vault.refresh()
      #expect(vault.problemTexts == [])
      let restored = dup2(kept, file)
      try #require(restored == file)
      try vault.add(["n": "2"], "two", label: "two")
    }
  }

  @Test(
    "heals whichever page of it is damaged, and loses nothing that it does not name", arguments: ["zeros", "noise"])
  func pages(_ kind: String) throws {
    let patient = try Patient()
    var (healed, missing, counted) = (0, 0, 0)
    for page in stride(from: 0, to: patient.database.count, by: 4096) {
      var bytes = patient.database
      for position in page..<(page + 4096) {
        bytes[position] = kind == "zeros" ? 0 : bytes[position] ^ UInt8(position % 255 + 1)
      }
      guard bytes != patient.database else { continue }
      let copy = try Home(copying: patient.home)
      copy.write("vault.db", bytes)
      copy.remove("vault.db-wal")
      let vault = try Patient.opened(copy)
      let healing = vault.healing.done
      if healing != nil { healed += 1 }
      missing += Int(healing?.lost ?? 0) + (healing?.older.count ?? 0)
      if healing?.isCounted == true, healing?.newer ?? 0 > 20 { counted += 1 }
      if let complaint = try patient.complaint(vault, healing) { Issue.record("page \(page / 4096): \(complaint)") }
      guard let healing else { continue }
      #expect(healing.loss == .damaged && healing.generation.number == 1)
      let aside = try #require(healing.aside)
      #expect((readFile(aside) == bytes) as Bool, "the damaged file is kept as it was")
      #expect(copy.names.filter { $0.contains(".healing") || $0.contains(".salvage") || $0.contains(".healed") } == [])
    }
    #expect(healed > 20)
    // Each page has some items. The items of the other pages must come from the damaged file.
    #expect(missing < 12 * healed && missing > 0)
    #expect(counted * 3 > healed * 2, "\(counted) of \(healed)")
  }

  @Test("A damaged database heals if it is truncated, deleted, or another user's")
  func lost() throws {
    let patient = try Patient()
    let other = try Patient(padding: 10)
    let size = patient.database.count
    let cuts = [0, 1, 99, 100, 512, 4096, 5000, size / 2, size - 4096].map { Array(patient.database.prefix($0)) }
    for bytes in cuts.map(Optional.some) + [nil, other.database] {
      let copy = try Home(copying: patient.home)
      copy.remove("vault.db-wal")
      if let bytes { copy.write("vault.db", bytes) } else { copy.remove("vault.db") }
      let vault = try Patient.opened(copy)
      let healing = try #require(vault.healing.done, "\(bytes?.count ?? -1) bytes")
      #expect(healing.loss == (bytes == nil ? .missing : bytes?.count == other.database.count ? .foreign : .damaged))
      if let complaint = try patient.complaint(vault, healing) {
        Issue.record("\(bytes?.count ?? -1) bytes: \(complaint)")
      }
      // The next login has nothing to heal.
      vault.settle()
      let again = try Home(copying: copy)
      let later = try Patient.opened(again)
      #expect(later.healing.done == nil && later.problemTexts == [])
    }
  }

  @Test("A damaged database takes the items that only its log has, and ignores a log that is not its own")
  func log() throws {
    let patient = try Patient()
    let crashed: Home
    do {
      let vault = try patient.home.unlocked()
      vault.verifyToEnd()
      try vault.add(["n": "log", "app": "log"], "in the log", label: "log")
      crashed = try Home(copying: patient.home)
    }
    #expect(crashed.read("vault.db-wal").count > 4096)
    var bytes = crashed.read("vault.db")
    for position in 0..<4096 { bytes[position] = 0 }
    crashed.write("vault.db", bytes)
    let vault = try Patient.opened(crashed)
    #expect(try vault.ids(["n": "log"]).count == 1, "\(vault.healing.done.map(\.explanation) ?? "not healed")")
    #expect(try patient.complaint(vault, vault.healing.done) == nil)
    let aside = try #require(vault.healing.done?.aside)
    #expect(readFile(aside + "-wal") != nil)
  }

  @Test("A damaged database takes the items that only the log of an emptied file has")
  func logOfAnEmptiedFile() throws {
    let (home, vault) = try withGeneration()
    let late = try vault.add(["n": "late"], "late", label: "late")
    try #require(truncate(home.folder + "/vault.db", 0) == 0)
    vault.refresh()
    vault.lock()
    try home.unlock(vault)
    #expect(vault.healing.done?.newer == 1, "\(vault.problemTexts)")
    #expect(try vault.secretText(1) == "kept" && vault.secretText(late) == "late")
  }

  @Test("A damaged database stays without a generation, if no generation opens, and if the file is a newer program's")
  func notHealed() throws {
    let patient = try Patient()
    var damaged = patient.database
    for position in 0..<4096 { damaged[position] = 0 }
    var newer = patient.database
    newer[63] = 9
    for (bytes, generation) in [(damaged, nil), (damaged, [UInt8](repeating: 3, count: 40_000)), (newer, [])] {
      let copy = try Home(copying: patient.home)
      copy.write("vault.db", bytes)
      copy.remove("vault.db-wal")
      let path = copy.generations + "/" + (namesInFolder(copy.generations).first ?? "")
      if let generation { if !generation.isEmpty { writeFile(path, generation) } } else { unlink(path) }
      let vault = copy.vault()
      #expect(throws: VaultError.self) { try copy.unlock(vault) }
      #expect(vault.healing.done == nil && vault.problemTexts.contains { $0.hasPrefix("vault.db: ") })
      #expect((copy.read("vault.db") == bytes) as Bool)
      #expect(copy.names.filter { $0.hasPrefix("vault.db.") } == [])
    }
  }

  @Test("A damaged database does not heal behind a locked screen, or with keys that are not the vault's")
  func keys() throws {
    let patient = try Patient()
    let copy = try Home(copying: patient.home)
    copy.remove("vault.db")
    let vault = copy.vault()
    #expect(throws: VaultError.self) { try copy.unlock(vault, opening: .session) }
    #expect(throws: VaultError.self) {
      try vault.unlock(try TierKeys.random(), opening: .everything, liftingLocks: true, mayCreate: false)
    }
    #expect(vault.healing.done == nil && !copy.names.contains("vault.db"))
    try copy.unlock(vault)
    #expect(vault.healing.done?.loss == .missing)
  }

  @Test("A damaged database brings back no item that was destroyed with the login's password")
  func passcode() throws {
    let patient = try Patient()
    let vault = try patient.home.unlocked()
    vault.verifyToEnd()
    let former = contentsOfFolder(patient.home.generations)
    try vault.passcode.destroyItems()
    #expect(vault.history.generations.isEmpty)
    vault.settle()
    try patient.home.unlock(vault)
    try vault.startPasscodeItemsAnew()
    vault.settle()
    // A backup of the folder has a copy of the former generations.
    for (name, bytes) in former { writeFile(patient.home.generations + "/" + name, bytes) }
    for page in [-1, 0, 3, 5, 8] {
      let copy = try Home(copying: patient.home)
      copy.remove("vault.db-wal")
      var bytes = copy.read("vault.db")
      if page < 0 {
        copy.remove("vault.db")
      } else {
        for position in page * 4096..<(page + 1) * 4096 { bytes[position] = 0 }
        copy.write("vault.db", bytes)
      }
      let healed = try Patient.opened(copy)
      #expect(healed.problemTexts == [])
      for id in try healed.ids([:]) {
        #expect(try healed.reader.info(ofItem: id).accessibility != .whenPasscodeSetThisDeviceOnly)
      }
    }
  }

  @Test("A damaged database does not count as an older copy, while a real older copy does")
  func older() throws {
    let service = StandInDevice(seed: 11)
    service.memory = StandInMemory()
    let home = try Home()
    func open(_ home: Home) throws -> Vault {
      let vault = Vault(home: home.path, owner: getuid(), machine: Home.machine) { () throws(DeviceKeyError) in service
      }
      try vault.unlock(home.tiers, opening: .everything, liftingLocks: true, mayCreate: true)
      vault.verifyToEnd()
      return vault
    }
    do {
      let vault = try open(home)
      try vault.add(["n": "1"], "first")
      vault.settle()
      vault.keepWholeHistory()
    }
    let before = try Home(copying: home)
    for _ in 0..<3 { try open(home).settle() }
    let missing = try Home(copying: home)
    missing.remove("vault.db")
    missing.remove("vault.db-wal")
    let healed = try open(missing)
    #expect(healed.healing.done != nil && healed.olderFiles.found == [])
    healed.settle()
    #expect(try open(try Home(copying: missing)).olderFiles.found == [])
    let old = try open(before)
    #expect(
      old.olderFiles.found == [.database],
      "\(old.healing.done.map(\.explanation) ?? "not healed") \(old.keys.generation) \(healed.keys.generation)")
  }

  @Test(
    "A database heals as a whole or not at all, before whichever file operation the process is killed",
    arguments: [true, false])
  func killed(_ hasLinks: Bool) throws {
    let shim = try #require(CrashTests.shim, "no C compiler")
    let patient = try Patient()
    var damaged = patient.database
    for position in 5 * 4096..<6 * 4096 { damaged[position] = 0 }
    for position in 0..<4096 { damaged[position] = 0 }
    var (points, finished) = (0, 0)
    for call in Cuts.calls {
      let copy = try Home(copying: patient.home)
      copy.write("vault.db", damaged)
      copy.remove("vault.db-wal")
      let durable = CrashTests.newFolder()
      defer { removeTree(durable) }
      let process = try Command(
        Command.crashing, ["heal", copy.path], input: plain(copy.tiers.unlocked) + plain(copy.tiers.session),
        environment: CrashTests.environment(shim, copy, durable, dieAt: call)
          + (hasLinks ? [] : ["POWERCUT_WITHOUT_LINKS=1"]))
      let lines = process.lines()
      let status = process.wait()
      let vault = try Patient.opened(copy)
      // The healing was reported before the kill or is reported now, unless the kill came between the exchange and the report.
      let wasExchanged = vault.healing.done?.wasFinished ?? true
      #expect(wasExchanged || vault.healing.done?.newer ?? 0 > 20, "call \(call)")
      if vault.healing.done?.wasFinished == true { finished += 1 }
      if !wasExchanged, let complaint = try patient.complaint(vault, vault.healing.done) {
        Issue.record("call \(call): \(complaint)")
      }
      let asides = copy.names.filter { $0.hasPrefix("vault.db.damaged-") }
      #expect(asides.count == 1 && readFile(copy.folder + "/" + asides[0]) == damaged, "call \(call)")
      #expect(try vault.ids(["app": "all"]).count >= patient.wanted.count - 8)
      #expect(
        copy.names.filter { $0.contains(".healing") || $0.contains(".salvage") || $0.contains(".healed") } == [],
        "call \(call)")
      if status == 0 {
        #expect(lines == ["healed"])
        break
      }
      try #require(status == -SIGKILL, "\(lines)")
      points = call
    }
    #expect(points > Cuts.enough(100))
    #expect(finished > Cuts.enough(3), "the exchange that another process ends is told as well")
  }

  @Test("A database has a whole generation or none, before whichever file operation of making one it is killed")
  func killedMaking() throws {
    let shim = try #require(CrashTests.shim, "no C compiler")
    let template = try Home()
    do {
      let vault = try template.unlocked()
      for number in 0..<60 { try vault.add(["n": "\(number)"], String(repeating: "x", count: 900)) }
      vault.settleWhole()
    }
    var points = 0
    for call in Cuts.calls {
      let copy = try Home(copying: template)
      let durable = CrashTests.newFolder()
      defer { removeTree(durable) }
      let process = try Command(
        Command.crashing, ["keep", copy.path], input: plain(copy.tiers.unlocked) + plain(copy.tiers.session),
        environment: CrashTests.environment(shim, copy, durable, dieAt: call))
      _ = process.lines()
      let status = process.wait()
      let vault = try copy.unlocked()
      vault.verifyToEnd()
      #expect(vault.problemTexts == [], "call \(call)")
      for generation in vault.history.generations {
        #expect(try vault.history.open(generation, vault: copy.keybag.vault).isWhole, "call \(call)")
        #expect(try vault.past(generation).count == 60, "call \(call)")
      }
      vault.passHours(2)
      try vault.add(["n": "more"], "more")
      let kept = vault.keepWholeHistory()
      #expect(try vault.past(try #require(kept.first)).count == 61)
      #expect(namesInFolder(copy.generations) == kept.map(\.name).sorted(), "call \(call)")
      if status == 0 { break }
      try #require(status == -SIGKILL)
      points = call
    }
    #expect(points > Cuts.enough(100))
  }
}
