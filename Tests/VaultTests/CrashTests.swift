import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium
import Testing

@testable import LatchkeyVault

/// The changes that a process reported as done before it ended.
private struct Acknowledged {
  var stored: Set<Int> = []
  var deleted: Set<Int> = []
  var latest = -1
  var unlocked = false
  var errors: [String] = []

  mutating func take(_ line: String) {
    let words = line.split(separator: " ")
    let number = words.last.flatMap { Int($0) } ?? -1
    switch words.first {
    case "unlocked": unlocked = true
    case "stored": stored.insert(number)
    case "latest": latest = number
    case "deleted": deleted.insert(number)
    default: errors.append(line)
    }
  }

  /// The error in the files of `home`; nil if every acknowledged change is there.
  func complaint(in home: Home) -> String? {
    let vault = home.vault()
    if !vault.problemTexts.isEmpty { return "\(vault.problemTexts)" }
    do {
      try home.unlock(vault)
      vault.verifyToEnd()
      if !vault.problemTexts.isEmpty { return "after the walk: \(vault.problemTexts)" }
      guard try vault.collections.alias("default") == 1, try vault.collections.alias("login") == 1,
        vault.collections.ids == [1],
        try vault.collections.info(of: 1).label == "Login"
      else { return "the first collection or its aliases are not there" }
      for number in stored.subtracting(deleted) {
        let found = try vault.ids(["n": "\(number)", "app": "crash"])
        // A deletion may be complete although the process did not report it.
        if found.isEmpty, number % 5 == 2, stored.contains(number + 2) { continue }
        guard found.count == 1 else { return "item \(number) is not there" }
        guard try vault.secretText(found[0]) == "secret \(number)" else { return "item \(number) is wrong" }
      }
      for number in deleted where try !vault.ids(["n": "\(number)"]).isEmpty { return "item \(number) came back" }
      if latest >= 0 {
        let found = try vault.ids(["latest": "yes"])
        guard found.count == 1 else { return "\(found.count) latest items" }
        let text = try vault.secretText(found[0])
        guard text == "latest \(latest)" || text == "latest \(latest + 1)" else { return "\(text), not \(latest)" }
      }
      // The vault can be used from then on.
      let id = try vault.add(["after": "the crash"], "x")
      guard try vault.secretText(id) == "x" else { return "a new item is wrong" }
      return nil
    } catch { return "\(error)" }
  }
}

private func keys(_ home: Home) -> [UInt8] {
  plain(home.tiers.unlocked) + plain(home.tiers.session)
}

@Suite("Crashes", .serialized)
struct CrashTests {
  @Test("Crashes by kill -9 at random moments lose no acknowledged change")
  func killed() throws {
    let home = try Home()
    var told = Acknowledged()
    var random = SystemRandomNumberGenerator()
    for round in 0..<30 {
      let process = try Command(
        Command.crashing, ["store", home.path, "100000", "\(round * 100_000)"], input: keys(home))
      let enough = Int.random(in: 0..<12, using: &random)
      for _ in 0...enough {
        guard let line = process.line() else { break }
        told.take(line)
      }
      usleep(UInt32.random(in: 0..<3000, using: &random))
      process.kill()
      for line in process.lines() { told.take(line) }
    }
    #expect(told.errors == [])
    #expect(told.stored.count > 30)
    #expect(told.complaint(in: home) == nil)
  }

  @Test("Crashes by kill -9 lose nothing if another process then works on the same files")
  func killedEach() throws {
    for round in 0..<10 {
      let home = try Home()
      var told = Acknowledged()
      let process = try Command(Command.crashing, ["store", home.path, "100000"], input: keys(home))
      for _ in 0..<(round * 3) { if let line = process.line() { told.take(line) } }
      process.kill()
      for line in process.lines() { told.take(line) }
      #expect(told.errors == [])
      #expect(told.complaint(in: home) == nil)
    }
  }

  @Test("Crashes by kill -9 during a restore leave the whole restore or nothing of it")
  func killedRestores() throws {
    var outcomes: Set<Int> = []
    // The time of a restore depends on the machine, so the kills approach its end from both sides.
    var delay: UInt32 = 0
    for _ in 0..<40 {
      let home = try Home()
      let process = try Command(Command.crashing, ["restore", home.path, "60"], input: keys(home))
      var said: [String] = []
      while let line = process.line() {
        said.append(line)
        if line == "ready" { break }
      }
      usleep(delay)
      process.kill()
      said += process.lines()
      #expect(said.starts(with: ["unlocked", "ready"]))
      let vault = try home.unlocked()
      vault.verifyToEnd()
      #expect(vault.problemTexts == [])
      let found = try vault.ids(["app": "crash"]).count
      #expect(found == 60 || (found == 0 && !said.contains("restored")), "\(found) after \(said)")
      #expect(vault.collections.ids.count == (found == 0 ? 1 : 2))
      outcomes.insert(found)
      delay = found == 0 ? delay + max(150, delay / 4) : delay / 2
    }
    #expect(outcomes == [0, 60], "both were seen")
  }

  @Test("a second process learns that the first has the database, and the first goes on")
  func twoProcesses() throws {
    let home = try Home()
    let process = try Command(Command.crashing, ["hold", home.path], input: keys(home))
    while let line = process.line(), line != "latest 0" { #expect(!line.hasPrefix("error")) }
    let second = home.vault()
    #expect(second.problemTexts == ["vault.db: another process uses it"])
    #expect(throws: VaultError.unavailable(.of(.database, .vault(.inUse)))) { try home.unlock(second) }
    process.kill()
    second.refresh()
    #expect(second.problemTexts == [])
    try home.unlock(second)
    #expect(try second.ids(["n": "0"]).count == 1)
  }

  // MARK: - power

  /// The compiled library of powercut.c; nil if there is no compiler.
  static let shim: String? = {
    let source = "\(#filePath)".split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(
      separator: "/")
    let library = Home.place + "/latchkey-powercut-\(getpid()).so"
    let made = Command.run(
      "/usr/bin/cc", ["-O1", "-shared", "-fPIC", "-o", library, source + "/Shims/powercut.c", "-ldl"])
    return made == 0 ? library : nil
  }()

  /// How much of the written but unsynchronised data is on the disk after the power cut.
  enum Unsynchronised: CaseIterable { case lost, torn, kept }

  /// The home that a power cut leaves.
  ///
  /// - Parameter keybag: the keybag from before; nil to leave the keybag unchanged.
  static func afterCut(
    _ home: Home, _ durable: String, _ rest: Unsynchronised, seed: UInt64, keybag: [UInt8]? = nil
  ) throws -> Home {
    let copy = try Home(copying: home)
    if rest == .kept { return copy }
    func bytes(_ path: String) -> [UInt8] { readFile(path) ?? [] }
    var state = seed | 1
    func coin() -> Bool {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state >> 62 & 1 == 1
    }
    for name in copy.names where name != "keybag" { copy.remove(name) }
    if let keybag { copy.write("keybag", keybag) }
    for line in String(decoding: bytes(durable + "/names"), as: UTF8.self).split(separator: "\n") {
      let parts = line.split(separator: " ", maxSplits: 1)
      let name = String(parts[1])
      if name == "keybag" && keybag == nil { continue }
      var content = bytes(durable + "/" + parts[0])
      let live = home.read(name)
      if rest == .torn, name != "device.key", name != "keybag" {
        if coin() {
          content += [UInt8](repeating: 0, count: max(0, live.count - content.count))
          if live.count < content.count { content.removeLast(content.count - live.count) }
        }
        for block in stride(from: 0, to: min(live.count, content.count), by: 512) where coin() {
          let end = min(block + 512, min(live.count, content.count))
          content.replaceSubrange(block..<end, with: live[block..<end])
        }
      }
      copy.write(name, content)
    }
    return copy
  }

  static func newFolder() -> String {
    let path = Home.place + "/latchkey-durable-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    mkdir(path, 0o700)
    return path
  }

  static func environment(_ shim: String, _ home: Home, _ durable: String, dieAt: Int) -> [String] {
    [
      "LD_PRELOAD=\(shim)", "POWERCUT_ROOT=\(home.folder)", "POWERCUT_DURABLE=\(durable)",
      "POWERCUT_DIE_AT=\(dieAt)",
    ]
  }

  @Test("in front of every single change of a file, by signal and by power, lose nothing that was acknowledged")
  func everyCall() throws {
    let shim = try #require(Self.shim, "no C compiler")
    let template = try Home()
    var points = 0
    for call in Cuts.calls {
      let home = try Home(copying: template)
      let durable = Self.newFolder()
      defer { removeTree(durable) }
      let process = try Command(
        Command.crashing, ["store", home.path, "6"], input: keys(home),
        environment: Self.environment(shim, home, durable, dieAt: call))
      var told = Acknowledged()
      for line in process.lines() { told.take(line) }
      let status = process.wait()
      #expect(told.errors == [], "call \(call)")
      for rest in Unsynchronised.allCases {
        let after = try Self.afterCut(home, durable, rest, seed: UInt64(call))
        if let complaint = told.complaint(in: after) { Issue.record("call \(call), writes \(rest): \(complaint)") }
      }
      if status == 0 { break }
      try #require(status == -SIGKILL)
      points = call
    }
    // Creating the database, six stores and a deletion make many changes: fewer would mean that powercut.c saw none.
    #expect(points > Cuts.enough(200))
  }

  @Test("With a library that never synchronises, the crash test detects the loss")
  func positiveControl() throws {
    let shim = try #require(Self.shim, "no C compiler")
    let home = try Home()
    let durable = Self.newFolder()
    defer { removeTree(durable) }
    let process = try Command(
      Command.crashing, ["store", home.path, "6"], input: keys(home),
      environment: Self.environment(shim, home, durable, dieAt: 0))
    var told = Acknowledged()
    for line in process.lines() { told.take(line) }
    #expect(process.wait() == 0)
    #expect(told.complaint(in: try Self.afterCut(home, durable, .lost, seed: 1)) == nil)
    // The data on the disk, without the synchronised parts of the database and its log.
    for name in namesInFolder(durable) where name != "names" { writeFile(durable + "/" + name, []) }
    #expect(told.complaint(in: try Self.afterCut(home, durable, .lost, seed: 1)) != nil)
  }

  /// The point in a creation or replacement of the keybag at which the power fails.
  private func keybagCut(
    _ arguments: [String], _ home: Home, _ folder: String, dieAt: Int
  ) throws -> (status: Int32, lines: [String], keybag: [UInt8]?) {
    let shim = try #require(Self.shim, "no C compiler")
    let durable = Self.newFolder()
    defer { removeTree(durable) }
    let before = readFile(folder + "/keybag")
    let process = try Command(
      Command.crashing, arguments, input: Home.password,
      environment: Self.environment(shim, home, durable, dieAt: dieAt))
    let lines = process.lines()
    let status = process.wait()
    guard let names = readFile(durable + "/names") else {
      return (status, lines, before)
    }
    for line in String(decoding: names, as: UTF8.self).split(separator: "\n") {
      let parts = line.split(separator: " ", maxSplits: 1)
      guard parts[1] == "keybag" else { continue }
      let content = readFile(durable + "/" + parts[0])
      return (status, lines, content ?? before ?? [])
    }
    return (status, lines, before)
  }

  @Test("Crashes during a change of the keybag leave the old or the new keybag, whole")
  func replacing() throws {
    let home = try Home()
    var finished = false
    for call in Cuts.calls {
      if finished { break }
      try #require(call <= 60)
      let copy = try Home(copying: home)
      let cut = try keybagCut(["replace", copy.path, "2"], copy, copy.folder, dieAt: call)
      let acknowledged = UInt64(cut.lines.last?.split(separator: " ").last ?? "1") ?? 1
      let keybag = try Keybag(decoding: try #require(cut.keybag))
      #expect(keybag.generation >= acknowledged && keybag.generation <= acknowledged + 1, "call \(call)")
      _ = try Home.open(keybag)
      // The folder itself, which shows the state after a kill, has a whole keybag too, and that keybag can be replaced again.
      let live = try Keybag(decoding: copy.read("keybag"))
      #expect(live.generation >= acknowledged)
      let next = try Home.open(live).proving()
      try KeybagFile.replace(live, with: next, in: try KeybagFile.folder(home: copy.path, owner: getuid()))
      #expect(copy.names.filter { $0.hasSuffix(".new") } == [])
      finished = cut.status == 0
    }
    #expect(finished)
  }

  @Test("Crashes during the creation of a vault leave no vault or a whole one")
  func creating() throws {
    var finished = false
    for call in Cuts.calls {
      if finished { break }
      try #require(call <= 40)
      let home = try Home()
      for name in home.names { home.remove(name) }
      let cut = try keybagCut(["create", home.path], home, home.folder, dieAt: call)
      if cut.lines == ["created"] || cut.keybag != nil {
        let keybag = try Keybag(decoding: try #require(cut.keybag))
        _ = try Home.open(keybag)
      }
      finished = cut.status == 0
      if finished { #expect(cut.lines == ["created"]) }
      // After a kill, the next login creates the vault or finds it.
      if home.names.contains("keybag") {
        _ = try Home.open(try Keybag(decoding: home.read("keybag")))
      } else {
        let password = Home.password
        _ = try KeybagFile.create(home: home.path, owner: getuid()) { () throws(KeybagError) in
          try Keybag.create(password: password.span.bytes, cost: Home.cost)
        }
      }
    }
    #expect(finished)
  }
}
