import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import Testing

@testable import LatchkeyVault

extension Vault {
  /// Advances the clock by `hours`, and does all work on generations that is due then.
  @discardableResult
  func keepWholeHistory(hours: Int = 1) -> [PastGeneration] {
    passHours(hours)
    while hasHistoryWork, keepHistory() {}
    return history.generations
  }

  /// The items' secrets in a generation whose keys the vault has, by the items' attribute `n`.
  func past(_ generation: PastGeneration) throws -> [String: String] {
    let store = try history.open(generation, vault: try database.ready().vault)
    var found: [String: String] = [:]
    for id in try store.items(after: 0, limit: 10_000) {
      let row = try #require(try store.item(id))
      let (collection, key) = try #require(keys.classKey(row.classKey))
      let item = SealedItem(vault: store.vault, row: row, collection: collection, key: key, share: keys.share)
      let opened = try #require(try item.openMetadata(keys.index))
      let secret = try item.openSecret(opened, try item.itemKey(opened), passphraseKey: nil)
      found[opened.metadata.attributes["n"] ?? ""] = String(decoding: plain(secret), as: UTF8.self)
    }
    return found
  }
}

@Suite("Generations of the vault")
struct HistoryTests {
  @Test("Generations are made an hour after the last one if something changed, and not otherwise")
  func made() throws {
    let home = try Home()
    let vault = try home.unlocked()
    #expect(!vault.hasHistoryWork, "not before the database was verified")
    vault.settleWhole()
    try vault.add(["n": "1"], "first")
    #expect(vault.keepWholeHistory().count == 1)
    #expect(vault.keepWholeHistory(hours: 0).count == 1)
    #expect(vault.keepWholeHistory().count == 1, "nothing changed")
    try vault.add(["n": "2"], "second")
    let two = vault.keepWholeHistory(hours: 0)
    #expect(two.map(\.number) == [2, 1])
    try vault.add(["n": "3"], "third")
    #expect(vault.keepWholeHistory(hours: 0) == two, "too early")
    #expect(vault.keepWholeHistory().map(\.number) == [3, 2, 1])
    #expect(try vault.past(two[1]) == ["1": "first"])
    #expect(try vault.past(two[0]) == ["1": "first", "2": "second"])
    #expect(namesInFolder(home.generations) == vault.history.generations.map(\.name).sorted())
    // Another process goes on from here.
    vault.settle()
    let next = try Home(copying: home)
    let later = try next.unlocked()
    later.settleWhole()
    later.passHours(3)
    #expect(later.keepWholeHistory().count == 3, "what an unlock writes is no change")
    try later.writer.deleteItem(1)
    #expect(later.keepWholeHistory().count == 4)
  }

  @Test("Generations are thinned, and their leftovers overwritten, whatever names are in the folder")
  func leftovers() throws {
    let home = try Home()
    let vault = try home.unlocked()
    vault.settleWhole()
    let first = try #require(vault.keepWholeHistory().first)
    for name in [first.name + ".erased", "forgetting.new", "generation.new"] {
      writeFile(home.generations + "/" + name, [UInt8](repeating: 7, count: 200_000))
    }
    try vault.add(["n": "1"], "first")
    try vault.history.removeAll()
    vault.settle()
    let again = try Home(copying: home)
    let later = try again.unlocked()
    later.settleWhole()
    let made = later.keepWholeHistory(hours: 5)
    #expect(made.count == 1)
    #expect(namesInFolder(again.generations) == made.map(\.name))
  }

  @Test("Generations are private, leave no other files, and are not made while locked or of a damaged vault")
  func conditions() throws {
    let home = try Home()
    let vault = try home.unlocked()
    try vault.add(["n": "1"], "first")
    vault.settleWhole()
    vault.lock()
    #expect(vault.keepWholeHistory() == [])
    try home.unlock(vault, liftingLocks: false)
    #expect(vault.keepWholeHistory().count == 1)
    var status = stat()
    #expect(stat(home.generations, &status) == 0 && status.st_mode & 0o777 == 0o700)
    for name in namesInFolder(home.generations) {
      #expect(stat(home.generations + "/" + name, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }
    try vault.add(["n": "2"], "second")
    vault.database.note(.damaged(.verbatim("vault.db: a test says so")))
    #expect(vault.keepWholeHistory().count == 1)
  }

  @Test("Generations have every item that was written during the copy, and none that was deleted during it")
  func copiedMeanwhile() throws {
    let home = try Home()
    let vault = try home.unlocked()
    for number in 0..<400 { try vault.add(["n": "\(number)"], String(repeating: "x", count: 2000)) }
    vault.settleWhole()
    vault.passHours(1)
    vault.history.copyTime = 0
    var (steps, next) = (0, 400)
    while vault.hasHistoryWork, vault.keepHistory() {
      steps += 1
      if steps % 3 == 0, next < 500 {
        try vault.add(["n": "\(next)"], "meanwhile")
        try vault.set(Int64(next - 398), "changed")
        try vault.writer.deleteItem(Int64(next - 200))
        if next % 7 == 0 { vault.settle() }
        next += 1
      }
    }
    #expect(next > 405, "writes happened in the middle")
    let made = try #require(vault.history.generations.first)
    // A generation lacks items that came after its last page was copied. So the test compares it with the items of that moment.
    var (present, past) = ([String: String](), try vault.past(made))
    for id in try vault.ids([:]) {
      let name = try #require(try vault.reader.info(ofItem: id).metadata?.attributes["n"])
      present[name] = try vault.secretText(id)
    }
    let differing = Set(present.keys).union(past.keys).filter { present[$0] != past[$0] }
    #expect(differing.count <= 3 * (next - 400) && past.values.contains("meanwhile"))
    past = try vault.past(try #require(vault.keepWholeHistory().first))
    #expect(past == present)
  }

  @Test("Generations end with a change of keys, except one that has only the new keys")
  func rotation() throws {
    let home = try Home()
    let vault = try home.unlocked()
    try vault.add(["n": "1"], "first")
    vault.settleWhole()
    let before = try #require(vault.keepWholeHistory().first)
    let old = readFile(home.generations + "/" + before.name) ?? []
    let classKeys = try vault.database.ready().classKeys().map(\.classKey)
    #expect(classKeys.allSatisfy { contains(old, $0) })
    let password = Home.password
    let next = try Home.open(home.keybag).rotated(
      password: password.span.bytes, cost: Home.cost)
    try KeybagFile.replace(home.keybag, with: next.keybag, in: try KeybagFile.folder(home: home.path, owner: getuid()))
    vault.refresh()
    try vault.unlock(
      try next.tiers(), former: try next.formerTiers(), opening: .everything, liftingLocks: false, mayCreate: false)
    #expect(vault.rotation.isUnderWay)
    #expect(vault.keepWholeHistory().map(\.number) == [1], "none while items still have former keys")
    while try vault.rotation.step() {}
    let after = vault.keepWholeHistory(hours: 0)
    #expect(after.map(\.number) == [2])
    #expect(try vault.past(after[0]) == ["1": "first"])
    for name in namesInFolder(home.generations) {
      let bytes = readFile(home.generations + "/" + name) ?? []
      #expect(!classKeys.contains { contains(bytes, $0) }, "no former class key is left in \(name)")
    }
  }

  @Test("forget an item everywhere, and nothing else")
  func forgetting() throws {
    let home = try Home()
    let vault = try home.unlocked()
    vault.settleWhole()
    for number in 1...3 {
      try vault.add(["n": "\(number)"], "secret \(number)")
      vault.keepWholeHistory()
    }
    let item = try vault.reader.info(ofItem: 1)
    let row = try #require(try vault.database.ready().item(1))
    try vault.writer.deleteItem(1)
    let forgetting = try vault.history.forgetEverywhere([item.uuid])
    while try forgetting.step() {}
    #expect(forgetting.changed == 3)
    let left = vault.history.generations
    #expect(left.map(\.number) == [3, 2, 1])
    #expect(try vault.past(left[0]) == ["2": "secret 2", "3": "secret 3"])
    #expect(try vault.past(left[2]) == [:])
    #expect(namesInFolder(home.generations) == left.map(\.name).sorted())
    for name in namesInFolder(home.generations) {
      let bytes = readFile(home.generations + "/" + name) ?? []
      #expect(!contains(bytes, row.secret) && !contains(bytes, row.metadata) && !contains(bytes, row.uuid))
    }
    let again = try vault.history.forgetEverywhere([item.uuid])
    while try again.step() {}
    #expect(again.changed == 0)
  }

  @Test("Generations move with the vault when it is set aside")
  func aside() throws {
    let home = try Home()
    let vault = try home.unlocked()
    try vault.add(["n": "1"], "first")
    vault.settleWhole()
    #expect(vault.keepWholeHistory().count == 1)
    let place = try vault.setAside(as: "latchkey-aside-test")
    #expect(namesInFolder(place + "/" + History.folderName).count == 1)
    #expect(vault.history.generations == [])
  }

  @Test("Generations are removed when they are switched off, and leave space on the disk for the programs' items")
  func switchedOff() throws {
    let home = try Home()
    let vault = try home.unlocked()
    try vault.add(["n": "1"], "first")
    vault.settleWhole()
    vault.history.spareRoom = .max / 2
    #expect(vault.keepWholeHistory() == [])
    #expect(vault.history.problem?.text.hasSuffix("MiB are free on the disk") == true)
    try vault.add(["n": "2"], "second")
    vault.history.spareRoom = History.usualSpareRoom
    #expect(vault.keepWholeHistory().count == 1 && vault.history.problem == nil)
    vault.history.policy.isOn = false
    #expect(vault.keepWholeHistory() == [] && namesInFolder(home.generations) == [])
    try vault.add(["n": "3"], "third")
    #expect(vault.keepWholeHistory() == [])
  }
}

@Suite("Thinning of generations")
struct HistoryThinningTests {
  private static let start: UInt64 = 1_900_000_800
  private static let hour: UInt64 = 3600

  private func made(_ times: [UInt64], size: Int = 1000) -> [PastGeneration] {
    times.enumerated().map { PastGeneration(number: UInt32($0.offset + 1), time: $0.element, epoch: 1, size: size) }
  }

  private func kept(
    _ all: [PastGeneration], at now: UInt64, policy: HistoryPolicy = HistoryPolicy(), expiring: Int = 1
  ) -> [UInt32] {
    let gone = HistoryThinning(policy: policy, now: now, databaseSize: 1000).removals(of: all, expiring: expiring)
    return all.filter { !gone.contains($0) }.map(\.number)
  }

  @Test("The thinning of generations keeps the hours of a day, the days of a week and the weeks of a month")
  func usual() {
    var present: [PastGeneration] = []
    for number in 1...(24 * 60) {
      let now = Self.start + UInt64(number) * Self.hour
      present.append(PastGeneration(number: UInt32(number), time: now, epoch: 1, size: 1000))
      let left = Set(kept(present, at: now))
      present.removeAll { !left.contains($0.number) }
    }
    let now = Self.start + 24 * 60 * Self.hour
    let ages = present.map { Int((now - $0.time) / Self.hour) }
    #expect(ages.filter { $0 < 24 } == Array((0..<24).reversed()))
    #expect((24 + 5...24 + 7 + 5).contains(present.count))
    #expect(
      ages.allSatisfy { $0 <= 32 * 24 } && ages.contains { $0 > 20 * 24 } && ages.contains { (4 * 24...7 * 24) ~= $0 })
  }

  @Test("removes what is too old, one at a time, and never the newest")
  func old() {
    let all = made([0, 1, 2, 3].map { Self.start + $0 * Self.hour })
    let later = Self.start + 400 * 24 * Self.hour
    #expect(kept(all, at: later) == [2, 3, 4])
    #expect(kept(all, at: later, expiring: 0) == [1, 2, 3, 4])
    #expect(kept(all, at: later, expiring: 9) == [4])
    #expect(kept(Array(all.suffix(1)), at: later, expiring: 9) == [4])
  }

  @Test("The thinning of generations loses nothing to a clock that jumps in either direction")
  func jumps() {
    let usual = (0..<10).map { Self.start + $0 * Self.hour }
    for jump in [0, 3600, Self.start + 10 * 365 * 24 * Self.hour] {
      let all = made(usual + [jump, jump + Self.hour])
      #expect(kept(all, at: jump + Self.hour, expiring: 1).count >= 11)
      // The clock jumps, and jumps back.
      let back = made(usual + [jump, jump + Self.hour] + [Self.start + 11 * Self.hour, Self.start + 12 * Self.hour])
      #expect(kept(back, at: Self.start + 12 * Self.hour, expiring: 1).count >= 12)
    }
  }

  @Test("The thinning of generations keeps within the size, but always keeps the newest")
  func size() {
    var policy = HistoryPolicy()
    policy.size = 3500
    let all = made((0..<8).map { Self.start + $0 * Self.hour })
    #expect(kept(all, at: Self.start + 8 * Self.hour, policy: policy) == [6, 7, 8])
    policy.size = 10
    #expect(kept(all, at: Self.start + 8 * Self.hour, policy: policy) == [8])
    policy.isOn = false
    #expect(kept(all, at: Self.start + 8 * Self.hour, policy: policy) == [])
    #expect(HistoryPolicy.defaultSize(of: 1000) == 64 << 20 && HistoryPolicy.defaultSize(of: 100 << 20) == 800 << 20)
  }

  @Test("The thinning recognises its own files by their names only")
  func names() {
    let one = PastGeneration(number: 7, time: 12345, epoch: 2, size: 9)
    #expect(PastGeneration(name: one.name, size: 9) == one)
    for name in [
      "7-12345-2.db.new", "7-12345-2.db-wal", "07-12345-2.db", "7-12345.db", "-1-2-3.db", "7-1-99999999999.db", "x.db",
    ] {
      #expect(PastGeneration(name: name, size: 9) == nil)
    }
  }
}

@Suite("Settings of generations")
struct HistorySettingsTests {
  @Test("Settings of generations say how much is kept, and nothing else")
  func policies() throws {
    func policy(_ text: String) throws -> HistoryPolicy {
      try HistorySettings.policy(Array(text.utf8), path: "history.yaml")
    }
    #expect(try policy("") == HistoryPolicy())
    #expect(try !policy("generations: off\n").isOn)
    let all = try policy("hourly: 1\ndaily: 2\nweekly: 3\ndays: 4\nmebibytes: 5\ngenerations: on\n")
    #expect(all.isOn && [all.hourly, all.daily, all.weekly, all.days, all.size] == [1, 2, 3, 4, 5 << 20])
    for wrong in [
      "generations: maybe", "days: 0", "daily: -1", "hourly: many", "yearly: 1", "- hourly", "mebibytes: 0",
    ] {
      #expect(throws: (any Error).self) { try policy(wrong) }
    }
  }

  @Test("Settings of generations are read only from the user's own file")
  func files() throws {
    let home = try Home()
    let path = HistorySettings.path(home: home.path)
    #expect(try HistorySettings.load(path, owner: getuid()) == HistoryPolicy())
    mkdir(home.path + "/.config", 0o700)
    mkdir(home.path + "/.config/latchkey", 0o700)
    writeFile(path, Array("daily: 3\n".utf8))
    #expect(try HistorySettings.load(path, owner: getuid()).daily == 3)
    chmod(path, 0o666)
    #expect(throws: (any Error).self) { try HistorySettings.load(path, owner: getuid()) }
  }
}
