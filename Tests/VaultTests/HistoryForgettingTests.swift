import Glibc
import LatchkeyPosix
import LatchkeySQLite
import Testing

@testable import LatchkeyVault

/// A vault whose first item is in so many generations.
private func vault(
  _ home: Home, generations: Int, size: Int = 500
) throws -> (vault: Vault, uuid: [UInt8]) {
  let vault = try home.unlocked()
  vault.settleWhole()
  vault.history.spareRoom = 0
  try vault.add(["n": "0"], String(repeating: "x", count: size))
  for number in 1...generations {
    try vault.add(["n": "\(number)"], "secret \(number)")
    vault.keepWholeHistory()
  }
  try #require(vault.history.generations.count == generations)
  vault.settle()
  return (vault, try #require(try vault.database.ready().item(1)).uuid)
}

/// Whether any generation has the item.
private func isInGenerations(_ uuid: [UInt8], _ vault: Vault) throws -> Bool {
  let store = try vault.database.ready()
  return try vault.history.generations.contains { one in
    try vault.history.open(one, vault: store.vault).item(uuid: uuid) != nil
  }
}

/// Copies until the new generation is complete and has the item. The removal has yet to look at the rows of the copy.
private func copyWhole(_ vault: Vault, with uuid: [UInt8]) throws {
  let draft = vault.history.path + "/" + HistoryDraft.newName
  var isWhole = false
  while !isWhole {
    try #require(vault.hasHistoryWork && vault.keepHistory())
    let copy = try? Store(path: draft, vault: vault.database.ready().vault, mode: .unchanging)
    isWhole = (try? copy?.item(uuid: uuid)) != nil
  }
}

@Suite("Items that are removed from generations")
struct HistoryForgettingTests {
  @Test("that are better protected go, whatever a client asks for and does not end", arguments: [false, true])
  func idle(_ isAnswered: Bool) throws {
    let home = try Home()
    let (vault, uuid) = try vault(home, generations: 3)
    vault.history.tighten(uuid)
    var asked = try vault.history.forgetEverywhere([[UInt8](repeating: 9, count: 16)])
    var steps = 0
    while vault.hasHistoryWork, vault.keepHistory() {
      steps += 1
      try #require(steps < 10_000)
      guard isAnswered else { continue }
      // The client begins a removal again and again, and never ends one.
      _ = try asked.step()
      if steps % 3 == 0 { asked = try vault.history.forgetEverywhere([[UInt8](repeating: 9, count: 16)]) }
    }
    #expect(try !isInGenerations(uuid, vault))
    #expect(!vault.history.isTightened(uuid))
    // The vault also finishes a removal that a client requested.
    let other = try #require(try vault.database.ready().item(2)).uuid
    try vault.writer.deleteItem(2)
    let forgetting = try vault.history.forgetEverywhere([other])
    while try forgetting.step() {}
    #expect(try forgetting.changed == 3 && !isInGenerations(other, vault))
  }

  @Test("Removed items also go from generations that were searched before one of them got better protection")
  func meanwhile() throws {
    for steps in 1...60 {
      let home = try Home()
      let vault = try home.unlocked()
      vault.settleWhole()
      vault.history.spareRoom = 0
      let first = try vault.add(["n": "first"], "first", .afterFirstUnlock)
      let second = try vault.add(["n": "second"], "second", .afterFirstUnlock)
      for number in 1...3 {
        try vault.add(["n": "\(number)"], "secret \(number)")
        vault.keepWholeHistory()
      }
      let uuid = try #require(try vault.database.ready().item(second)).uuid
      let former = Set(vault.history.generations.map(\.number))
      try vault.writer.update(item: first, accessibility: .whenUnlocked) { _ in }
      var isOver = false
      for _ in 0..<steps where !isOver { isOver = !vault.hasHistoryWork || !vault.keepHistory() }
      try vault.writer.update(item: second, accessibility: .whenUnlocked) { _ in }
      vault.keepWholeHistory()
      let store = try vault.database.ready()
      for one in vault.history.generations where former.contains(one.number) {
        let past = try vault.history.open(one, vault: store.vault)
        #expect(try past.item(uuid: uuid) == nil, "generation \(one.number), after \(steps) steps")
      }
      if isOver { return }
    }
    Issue.record("the first item was never done with")
  }

  @Test("Removed items are not in a generation that was being made during the search")
  func underWay() throws {
    let home = try Home()
    let (vault, _) = try vault(home, generations: 1)
    let id = try vault.add(["n": "gone"], "it goes")
    let uuid = try #require(try vault.database.ready().item(id)).uuid
    // A generation is due, as at the end of an import.
    vault.history.want()
    try copyWhole(vault, with: uuid)
    try vault.writer.deleteItem(id)
    let search = try HistorySearch(vault, .attributes(["n": "gone"]), present: [])
    while try search.step() {}
    #expect(search.lines == [])
    while vault.history.isWanted { try #require(vault.keepHistory()) }
    #expect(try vault.history.problem == nil && !isInGenerations(uuid, vault))
  }

  @Test(
    "A removal costs the vault no generation if the unfinished copy is dropped for it",
    arguments: [(false, false), (false, true), (true, false), (true, true)])
  func droppedCopy(_ isWanted: Bool, _ isSearch: Bool) throws {
    let home = try Home()
    let (vault, uuid) = try vault(home, generations: 1)
    let id = try vault.add(["n": "new"], "it stays")
    let added = try #require(try vault.database.ready().item(id)).uuid
    if isWanted { vault.history.want() } else { vault.passHours(1) }
    try copyWhole(vault, with: added)
    // The search finds nothing, and nothing changes in the vault.
    if isSearch {
      let search = try HistorySearch(vault, .attributes(["n": "nowhere"]), present: [])
      while try search.step() {}
    } else {
      let forgetting = try vault.history.forgetEverywhere([[UInt8](repeating: 9, count: 16)])
      while try forgetting.step() {}
    }
    #expect(vault.history.generations.first?.number == 1 && vault.history.isWanted == isWanted)
    // No hour passes.
    while vault.hasHistoryWork, vault.keepHistory() {}
    #expect(!vault.history.isWanted && vault.history.generations.first?.number == 2)
    #expect(try isInGenerations(added, vault) && isInGenerations(uuid, vault))
    #expect(!vault.hasHistoryWork)
  }

  @Test("A removal leaves no copy if a collection gets a passphrase, keys change, or the client disconnects")
  func copies() throws {
    for how in ["all", "former", "client", "killed"] {
      let home = try Home()
      let (vault, uuid) = try vault(home, generations: 2)
      let name = HistoryForgetting.draftName
      if how == "killed" {
        vault.keepWholeHistory(hours: 0)
        let oldest = try #require(vault.history.generations.last)
        writeFile(home.generations + "/" + name, readFile(home.generations + "/" + oldest.name) ?? [])
      } else if how == "client" {
        var asked: HistoryForgetting? = try vault.history.forgetEverywhere([uuid])
        while !namesInFolder(home.generations).contains(name) { try #require(try asked?.step() ?? false) }
        asked = nil
        #expect(!namesInFolder(home.generations).contains(name), "\(how)")
        continue
      } else {
        vault.history.tighten(uuid)
        while !namesInFolder(home.generations).contains(name) { try #require(vault.keepHistory()) }
      }
      if how == "former" {
        // A completed change of keys calls this.
        _ = vault.history.step(epoch: 2, mayMake: true)
        while !vault.history.generations.allSatisfy({ $0.epoch == 2 }) {
          try #require(vault.history.step(epoch: 2, mayMake: true))
        }
      } else {
        try vault.history.removeAll()
      }
      let left = namesInFolder(home.generations)
      #expect(left.allSatisfy { $0.hasSuffix(".erased") || $0.hasSuffix("-2.db") }, "\(how): \(left)")
    }
  }

  @Test("Removed items are deleted from a copy in many steps, even with a damaged index", arguments: [false, true])
  func steps(_ isDamaged: Bool) throws {
    let home = try Home()
    let vault = try home.unlocked()
    vault.settleWhole()
    for number in 0..<2000 { try vault.add(["n": "\(number)", "app": "all"], String(repeating: "x", count: 300)) }
    let last = try #require(try vault.database.ready().item(2000)).uuid
    let generation = try #require(vault.keepWholeHistory().first)
    let uuids = Set(try ItemProtections(vault.database.ready()).after(0, limit: 1999).map(\.uuid))
    if isDamaged {
      let path = home.generations + "/" + generation.name
      let page: Int64
      do {
        let database = try Database(path: path, mode: .unchanging)
        let statement = try database.statement("SELECT rootpage FROM sqlite_schema WHERE name = 'item_collection'")
        defer { statement.reset() }
        try #require(try statement.step())
        page = statement.integer(0)
      }
      var bytes = readFile(path) ?? []
      let start = Int(page - 1) * 4096
      for position in start..<start + 4096 { bytes[position] = 0 }
      bytes[start] = 10
      (bytes[start + 5], bytes[start + 6]) = (0x10, 0)
      writeFile(path, bytes)
    }
    let forgetting = try vault.history.forgetEverywhere(Array(uuids))
    var steps = 0
    while try forgetting.step() { steps += 1 }
    #expect(forgetting.changed == 1 && forgetting.unreadable == [])
    let store = try vault.history.open(generation, vault: try vault.database.ready().vault)
    #expect(try ItemProtections(store).after(0, limit: 10).map(\.uuid) == [last])
    // Nothing refers to the other pages of the damaged index then.
    #expect(isDamaged || store.isWhole)
    #expect(namesInFolder(home.generations) == [generation.name])
    #expect(steps > 1999 / HistoryDeletion.batch)
  }

  @Test("The list of removed items is built a few generations at a time")
  func list() throws {
    let home = try Home()
    let (vault, _) = try vault(home, generations: 4)
    var numbers: [UInt32] = []
    while true {
      let (entries, hasMore) = try vault.history.entries(below: numbers.last ?? .max, limit: 40, for: 0)
      #expect(entries.count == 1)
      numbers += entries.map(\.generation.number)
      if !hasMore { break }
    }
    #expect(numbers == [4, 3, 2, 1])
  }
}

@Suite("Removing items from generations on a full disk", .enabled(if: geteuid() == 0, "needs to mount a small disk"))
struct HistoryRoomTests {
  @Test("A removal of items on a full disk needs space for one more generation at most", arguments: [false, true])
  func oneAtATime(_ isAsked: Bool) throws {
    let disk = try #require(SmallDisk(mebibytes: 6))
    let home = try Home(below: disk.path)
    try work(home, disk)
    func work(_ home: Home, _ disk: SmallDisk) throws {
      let (vault, uuid) = try vault(home, generations: 5, size: 200_000)
      let size = try #require(vault.history.generations.first).size
      disk.fill(butFor: 2 * size + 64 * 1024)
      if isAsked {
        let forgetting = try vault.history.forgetEverywhere([uuid])
        while try forgetting.step() {}
      } else {
        vault.history.tighten(uuid)
        while vault.hasHistoryWork, vault.keepHistory() {}
      }
      #expect(vault.history.problem == nil)
      #expect(try !isInGenerations(uuid, vault))
      #expect(namesInFolder(home.generations) == vault.history.generations.map(\.name).sorted())
      #expect(vault.history.generations.count == 5)
    }
  }

  @Test("A removal on a full disk takes no space if there is too little, lets old generations go, and is done later")
  func noRoom() throws {
    let disk = try #require(SmallDisk(mebibytes: 6))
    let home = try Home(below: disk.path)
    try work(home, disk)
    func work(_ home: Home, _ disk: SmallDisk) throws {
      let (vault, uuid) = try vault(home, generations: 4, size: 200_000)
      let before = namesInFolder(home.generations)
      let size = try #require(vault.history.generations.first).size
      disk.fill(butFor: size + 32 * 1024)
      vault.history.tighten(uuid)
      for _ in 0..<5 {
        while vault.hasHistoryWork, vault.keepHistory() {}
        #expect(namesInFolder(home.generations) == before)
        vault.history.clock = { [now = vault.history.clock()] in (now.time, now.uptime + 700_000) }
      }
      #expect(vault.history.problem?.text.hasSuffix("MiB are free on the disk") == true)
      try vault.add(["n": "more"], "there is room for it")
      vault.settle()
      let asked = try vault.history.forgetEverywhere([uuid])
      let refusal = #expect(throws: VaultError.self) { while try asked.step() {} }
      #expect(refusal?.explanation.hasSuffix("MiB are free on the disk") == true)
      #expect(namesInFolder(home.generations) == before)
      // Thinning frees space, which the copies need too.
      vault.history.policy.size = 2 * size + 4096
      vault.history.clock = { [now = vault.history.clock()] in (now.time, now.uptime + 700_000) }
      while vault.hasHistoryWork, vault.keepHistory() {}
      #expect(vault.history.generations.count == 2)
      #expect(try !isInGenerations(uuid, vault))
      #expect(namesInFolder(home.generations) == vault.history.generations.map(\.name).sorted())
    }
  }
}
