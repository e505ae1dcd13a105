import LatchkeyBackup
import LatchkeySodium
import Testing

@testable import LatchkeyKeybag
@testable import LatchkeyVault

@Suite("The name of a collection")
struct CollectionNameTests {
  let home: Home

  init() throws { home = try Home() }

  @Test(
    "The name of a collection is derived from the label as gnome-keyring derives it",
    arguments: [
      ("exampletool", "exampletool"), ("Work", "Work"), ("par_défaut", "par_5fd_c3_a9faut"), ("My Keys", "My_5fKeys"),
      ("a:/\\<>|\t\n\r\u{B} b", "a_5f_5f_5f_5f_5f_5f_5f_5f_5f_5f_5fb"), ("", "unnamed"), ("a.b-c", "a_2eb_2dc"),
      // Labels that would make names with a special meaning.
      ("login", "login_5f1"), ("session", "session_5f1"), ("c2", "c2_5f1"), ("c1", "c1"), ("c02", "c02"), ("C2", "C2"),
    ])
  func derived(_ label: String, _ name: String) throws {
    #expect(CollectionName.derived(from: label, besides: []) == name)
  }

  @Test("The name of a collection gets a number if another collection has it, and is never too long")
  func numbered() {
    #expect(CollectionName.derived(from: "Work", besides: ["Work"]) == "Work_5f1")
    #expect(CollectionName.derived(from: "Work", besides: ["Work", "Work_5f1"]) == "Work_5f2")
    for label in [String(repeating: "a", count: 70_000), String(repeating: "é", count: 30_000)] {
      let name = CollectionName.derived(from: label, besides: [])
      #expect(CollectionName.isPossible(name))
      let second = CollectionName.derived(from: label, besides: [name])
      #expect(CollectionName.isPossible(second) && second != name)
    }
  }

  @Test("The name of a collection survives a rename, a restart and the deletion of a collection with the same label")
  func stays() throws {
    let vault = try home.unlocked()
    let ids = try ["Work", "Work", "Work"].map { try vault.collections.create(label: $0) }
    #expect(vault.collections.pathName(of: 1) == "login")
    #expect(ids.map { vault.collections.pathName(of: $0) } == ["Work", "Work_5f1", "Work_5f2"])
    try vault.collections.setLabel(of: ids[1], "Play")
    try vault.collections.delete(ids[0])
    func check(_ vault: Vault) throws {
      #expect(vault.collections.pathName(of: ids[1]) == "Work_5f1")
      #expect(try vault.collections.info(of: ids[1]).label == "Play")
      #expect(try vault.collections.named("Work_5f2") == ids[2])
      #expect(try vault.collections.named("Work") == nil)
    }
    try check(vault)
    let restarted = try Home(copying: home)
    let next = restarted.vault()
    try check(next)
    try restarted.unlock(next)
    try check(next)
    // As in gnome-keyring, a new collection gets the name of a deleted collection.
    #expect(next.collections.pathName(of: try next.collections.create(label: "Work")) == "Work")
  }

  @Test("A collection's name is sealed: without a key for labels the collection has only its number")
  func sealed() throws {
    let vault = try home.unlocked()
    let id = try vault.collections.create(label: "exampletool")
    vault.settleWhole()
    for name in home.names where name.hasPrefix(KeybagFile.database) {
      #expect(!contains(home.read(name), Array("exampletool".utf8)))
    }
    // Without this machine's key, labels cannot be opened before the login.
    let elsewhere = try Home(copying: home)
    let other = elsewhere.vault(on: Home.otherMachine)
    #expect(!other.collections.knowsNames && other.collections.pathName(of: id) == "c\(id)")
    #expect(throws: VaultError.self) { try other.collections.named("exampletool") }
    try elsewhere.unlock(other)
    #expect(other.collections.pathName(of: id) == "exampletool")
  }

  @Test("The name of a collection is given to collections that older programs created, the oldest first, and then kept")
  func formerVault() throws {
    let vault = try home.unlocked()
    let ids = try ["Work", "Work", "Old"].map { try vault.collections.create(label: $0) }
    let index = try #require(vault.keys.index)
    for id in ids {
      let collection = try vault.collections.collection(id)
      var row = collection.row
      row.label = try vault.collections.seal(
        CollectionTitle(label: try vault.collections.info(of: id).label, name: nil), uuid: row.uuid, index: index)
      try vault.database.writing { store throws(VaultError) in try store.update(row) }
    }
    vault.settleWhole()
    func kept(_ vault: Vault, _ id: Int64) throws -> String? {
      try vault.collections.title(of: try vault.collections.collection(id).row, index: index).name
    }
    let former = try Home(copying: home)
    let next = former.vault()
    #expect(ids.map { next.collections.pathName(of: $0) } == ["Work", "Work_5f1", "Old"])
    #expect(try kept(next, ids[1]) == nil)
    try former.unlock(next)
    #expect(ids.map { next.collections.pathName(of: $0) } == ["Work", "Work_5f1", "Old"])
    #expect(try ids.map { try kept(next, $0) } == ["Work", "Work_5f1", "Old"])
    try next.collections.delete(ids[0])
    let last = try Home(copying: former)
    #expect(last.vault().collections.pathName(of: ids[1]) == "Work_5f1")
  }

  @Test("The name of a collection is restored from a backup, unless another collection has it")
  func backup() throws {
    let vault = try home.unlocked()
    let id = try vault.collections.create(label: "exampletool")
    try vault.collections.setLabel(of: id, "Tool")
    try vault.add(["a": "1"], "s", in: id)
    let tape = try Tape(vault)
    for isTaken in [false, true] {
      let elsewhere = try Home()
      let other = try elsewhere.unlocked()
      let present = isTaken ? try other.collections.create(label: "exampletool") : nil
      try tape.restore(into: other)
      let restored = try #require(other.collections.ids.last)
      #expect(restored != present)
      #expect(try other.collections.info(of: restored).label == "Tool")
      #expect(other.collections.pathName(of: restored) == (isTaken ? "Tool" : "exampletool"))
    }
  }
}
