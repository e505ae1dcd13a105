import LatchkeyClassRules
import LatchkeyKeybag
import LatchkeyPosix
import Testing

@testable import LatchkeyVault

@Suite("An item without a schema")
struct GenericSchemaTests {
  static let generic = [GenericSchema.attribute: GenericSchema.name]

  let home: Home
  let vault: Vault

  init() throws {
    home = try Home()
    vault = try home.unlocked()
  }

  /// The attributes together with the generic schema.
  private func named(_ attributes: [String: String]) -> [String: String] {
    attributes.merging(Self.generic) { own, _ in own }
  }

  @Test("An item without a schema counts as an item of libsecret's generic schema, and of no other")
  func search() throws {
    let plain = try vault.add(["user": "ann", "host": "a"], "s")
    let generic = try vault.add(named(["user": "ann"]), "s")
    let other = try vault.add(["user": "ann", "host": "a", "xdg:schema": "org.example"], "s")
    let third = try vault.add(["user": "ann", "host": "b", "xdg:schema": "org.example"], "s")
    #expect(try vault.ids(named(["user": "ann"])) == [plain, generic])
    #expect(try vault.ids(named(["user": "ann", "host": "a"])) == [plain])
    #expect(try vault.ids(named([:])) == [plain, generic])
    #expect(try vault.ids(["user": "ann"]) == [plain, generic, other, third])
    #expect(try vault.ids(["user": "ann", "xdg:schema": "org.example"]) == [other, third])
    #expect(try vault.ids(named(["user": "bob"])) == [])
    // The implied schema is not stored.
    #expect(try vault.reader.info(ofItem: plain).metadata?.attributes == ["user": "ann", "host": "a"])
  }

  @Test("An item without a schema is found behind a lock, and before the login even if its label cannot be opened")
  func locked() throws {
    let plain = try vault.add(["user": "ann", "host": "a"], "s")
    let other = try vault.add(["user": "ann", "xdg:schema": "org.example"], "s")
    vault.lock()
    #expect(try vault.ids(named(["user": "ann"])) == [plain])
    // Another process has not opened the items yet, so the search must return both.
    let sealed = try Home(copying: home).vault()
    #expect(try sealed.ids(named(["user": "ann"])) == [plain, other])
    #expect(try sealed.ids(named(["user": "ann", "host": "a"])) == [plain])
  }

  @Test("An item without a schema and one with the generic schema replace each other", arguments: [false, true])
  func replace(_ isNamedFirst: Bool) throws {
    let spellings = [["user": "ann"], named(["user": "ann"])]
    let (first, second) = isNamedFirst ? (spellings[1], spellings[0]) : (spellings[0], spellings[1])
    let id = try vault.add(first, "old", replacing: true)
    #expect(try vault.add(second, "new", replacing: true) == id)
    #expect(try vault.secretText(id) == "new")
    #expect(try vault.reader.info(ofItem: id).metadata?.attributes == second)
    #expect(try vault.add(["user": "ann", "xdg:schema": "org.example"], "x", replacing: true) != id)
    #expect(try vault.ids(["user": "ann"]).count == 2)
  }

  @Test("Items without a schema and with the generic one become one when one is replaced", arguments: [false, true])
  func twins(_ isNamedNewer: Bool) throws {
    func add(_ attributes: [String: String], _ time: UInt64) throws -> Int64 {
      try vault.writer.createItem(
        in: 1, ItemMetadata(label: "", attributes: attributes, contentType: "text/plain"), secret: try secure([1]),
        accessibility: nil, replacing: false, times: ItemTimes(created: 1, modified: time)
      ).id
    }
    let plain = try add(["user": "ann"], isNamedNewer ? 5 : 7)
    let generic = try add(named(["user": "ann"]), 6)
    let newer = isNamedNewer ? generic : plain
    for wanted in [["user": "ann"], named(["user": "ann"])] {
      #expect(try vault.reader.search(.attributes(wanted)).first?.id == newer)
    }
    let stored = try vault.writer.createItem(
      in: 1, ItemMetadata(label: "", attributes: ["user": "ann"], contentType: "text/plain"), secret: try secure([2]),
      accessibility: nil, replacing: true)
    #expect(stored.id == newer && !stored.isNew && stored.removed == [plain + generic - newer])
    #expect(try vault.ids(["user": "ann"]) == [newer])
    #expect(try vault.secretBytes(newer) == [2])
  }

  @Test("An item without a schema stays next to its replacement if it cannot be read or requires something")
  func guarded() throws {
    let generic = try vault.add(named(["user": "ann"]), "kept")
    try vault.writer.setAccess(ofItem: generic, try AccessControl(text: "user-presence"))
    let locked = try vault.add(["user": "bob"], "kept")
    try vault.writer.lockItem(locked)
    for name in ["ann", "bob"] {
      let spelling = name == "ann" ? ["user": "ann"] : named(["user": "bob"])
      let id = try vault.add(spelling, "newer")
      #expect(try vault.add(spelling, "newest", replacing: true) == id)
      #expect(try vault.ids(["user": name]).count == 2)
    }
  }

  @Test("An item without a schema does not count as a duplicate of several items, which stay", arguments: [1, 3])
  func several(_ count: Int) throws {
    let plain = try (0..<3).map { _ in try vault.add(["user": "ann"], "s") }
    let generic = try (0..<count).map { _ in try vault.add(named(["user": "ann"]), "s") }
    try vault.add(named(["user": "ann"]), "new", replacing: true)
    #expect(Set(try vault.ids(["user": "ann"])) == Set(plain + generic))
  }

  @Test("An item without a schema and without other attributes matches only itself")
  func withoutAttributes() throws {
    let notes = try (0..<4).map { _ in try vault.add([:], "s") }
    for _ in 0..<2 { try vault.add(Self.generic, "new", replacing: true) }
    #expect(try vault.ids([:]).count == notes.count + 1)
  }
}
