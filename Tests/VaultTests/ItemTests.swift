import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium
import Testing

@testable import LatchkeyVault

@Suite("Items")
struct ItemTests {
  let home: Home
  let vault: Vault

  init() throws {
    home = try Home()
    vault = try home.unlocked()
  }

  @Test("Items are created, read, changed and deleted in every class", arguments: AccessibilityClass.allCases)
  func everyClass(_ accessibility: AccessibilityClass) throws {
    let id = try vault.add(["service": "mail", "user": "ann"], "first", accessibility, label: "Mail")
    #expect(try vault.secretText(id) == "first")
    let info = try vault.reader.info(ofItem: id)
    #expect(info.accessibility == accessibility)
    #expect(info.isReadable)
    #expect(
      info.metadata
        == ItemMetadata(label: "Mail", attributes: ["service": "mail", "user": "ann"], contentType: "text/plain"))
    #expect(try vault.ids(["service": "mail"]) == [id])

    try vault.writer.setSecret(ofItem: id, try secure([1, 2, 3]), contentType: "application/octet-stream")
    #expect(try vault.secretBytes(id) == [1, 2, 3])
    #expect(try vault.reader.secret(ofItem: id).contentType == "application/octet-stream")

    try vault.writer.update(item: id) {
      $0.label = "Post"
      $0.attributes = ["service": "post"]
    }
    #expect(try vault.reader.info(ofItem: id).metadata?.label == "Post")
    #expect(try vault.ids(["service": "mail"]) == [])
    #expect(try vault.ids(["service": "post"]) == [id])
    #expect(try vault.secretBytes(id) == [1, 2, 3])

    try vault.writer.deleteItem(id)
    #expect(throws: VaultError.noSuchItem) { try vault.reader.secret(ofItem: id) }
    #expect(throws: VaultError.noSuchItem) { try vault.writer.deleteItem(id) }
    #expect(try vault.ids(["service": "post"]) == [])
    #expect(try vault.reader.itemCount() == 0)
  }

  @Test("Items keep the times of their source, but none that is later than now")
  func timesOfAnotherPlace() throws {
    func times(_ given: ItemTimes) throws -> [UInt64] {
      let metadata = ItemMetadata(label: "", attributes: [:], contentType: "")
      let id = try vault.writer.createItem(
        in: vault.collections.ids[0], metadata, secret: try secure([1]), accessibility: nil, replacing: false,
        times: given
      ).id
      let info = try vault.reader.info(ofItem: id)
      return [info.created, info.modified]
    }
    let before = LatchkeyPosix.Process.time
    #expect(try times(ItemTimes(created: 5, modified: 7)) == [5, 7])
    #expect(try times(ItemTimes(created: 7, modified: 5)) == [7, 7])
    for given in [ItemTimes(), ItemTimes(created: .max, modified: .max)] {
      #expect(try times(given).allSatisfy { (before...LatchkeyPosix.Process.time).contains($0) })
    }
  }

  @Test("Items are found by their last change, the newest first, and within a second the higher number first")
  func newestFirst() throws {
    func add(_ number: Int, _ time: UInt64) throws -> Int64 {
      try vault.writer.createItem(
        in: vault.collections.ids[0],
        ItemMetadata(label: "", attributes: ["all": "x", "n": "\(number)"], contentType: "text/plain"),
        secret: try secure([1]), accessibility: nil, replacing: false, times: ItemTimes(created: 1, modified: time)
      ).id
    }
    let made = try [30, 20, 20, 40].enumerated().map(add)
    func order(_ terms: SearchTerms) throws -> [Int64] { try vault.reader.search(terms, in: 1).map(\.id) }
    let expected = [made[3], made[0], made[2], made[1]]
    let everywhere: [SearchTerms] = [
      .attributes(["all": "x"]), .attributes([:]), .accessibility(.whenUnlocked), .access(.none, nil),
    ]
    for terms in everywhere { #expect(try order(terms) == expected) }
    try vault.set(made[1], "new")
    for terms in everywhere { #expect(try order(terms).first == made[1]) }
  }

  @Test("If several items have the same attributes, the last changed one is replaced")
  func newestIsReplaced() throws {
    func add(_ time: UInt64) throws -> Int64 {
      try vault.writer.createItem(
        in: 1, ItemMetadata(label: "", attributes: ["a": "1"], contentType: "text/plain"), secret: try secure([1]),
        accessibility: nil, replacing: false, times: ItemTimes(created: 1, modified: time)
      ).id
    }
    let (newer, older) = (try add(7), try add(5))
    #expect(try vault.add(["a": "1"], "other", replacing: true) == newer)
    #expect(try vault.secretBytes(older) == [1])
  }

  @Test("Items are found by all of the attributes, however many items have each of them")
  func manyWithTheSame() throws {
    var made: [Int64] = []
    for number in 0..<90 {
      var attributes = ["all": "x", "number": "\(number)", "third": "\(number % 3)", "half": "\(number % 2)"]
      if number % 30 == 4 { attributes["few"] = "x" }
      made.append(try vault.add(attributes, "\(number)"))
    }
    func expected(_ fits: (Int) -> Bool) -> [Int64] { made.indices.filter(fits).map { made[$0] } }
    #expect(try vault.ids(["all": "x"]) == made)
    #expect(try vault.ids(["all": "x", "half": "1"]) == expected { $0 % 2 == 1 })
    #expect(try vault.ids(["all": "x", "half": "1", "third": "2"]) == expected { $0 % 2 == 1 && $0 % 3 == 2 })
    #expect(try vault.ids(["all": "x", "few": "x"]) == expected { $0 % 30 == 4 })
    #expect(
      try vault.ids(["all": "x", "few": "x", "half": "0", "third": "1", "number": "34"]) == expected { $0 == 34 })
    #expect(try vault.ids(["all": "x", "half": "1", "third": "1", "number": "34"]) == [])
    #expect(try vault.ids(["all": "x", "half": "0", "third": "1", "few": "x"]) == expected { $0 % 30 == 4 })
    #expect(try vault.ids(["all": "x", "half": "none"]) == [])
    // The right item is found whichever attribute the search reads last.
    let right = ["number": "34", "half": "0", "third": "1", "few": "x", "all": "x"]
    for count in 2...right.count {
      let names = ["number", "half", "third", "few", "all"].prefix(count)
      let query = right.filter { names.contains($0.key) }
      #expect(try vault.ids(query) == [made[34]])
      #expect(try vault.ids(query.merging(["half": "1"]) { $1 }) == [])
      #expect(try vault.ids(query.merging(["third": "2"]) { $1 }) == [])
    }
  }

  @Test("Items move from every class to every other with their secret", arguments: AccessibilityClass.allCases)
  func classChange(_ from: AccessibilityClass) throws {
    for to in AccessibilityClass.allCases {
      let id = try vault.add(["to": to.name], "moved", from)
      try vault.writer.update(item: id, accessibility: to) { $0.label = "after" }
      #expect(try vault.reader.info(ofItem: id).accessibility == to)
      #expect(try vault.reader.info(ofItem: id).metadata?.label == "after")
      #expect(try vault.secretText(id) == "moved")
      #expect(try vault.reader.search(.accessibility(to)).map(\.id).contains(id))
      try vault.writer.deleteItem(id)
    }
  }

  @Test("Items are replaced only by exactly the same attributes, and keep their class unless one is named")
  func replacing() throws {
    let id = try vault.add(["a": "1", "b": "2"], "old", .afterFirstUnlock)
    let more = try vault.add(["a": "1", "b": "2", "c": "3"], "more", nil, replacing: true)
    let less = try vault.add(["a": "1"], "less", nil, replacing: true)
    let other = try vault.add(["a": "1", "b": "3"], "other", nil, replacing: true)
    #expect(Set([id, more, less, other]).count == 4)

    let again = try vault.add(["b": "2", "a": "1"], Array("new".utf8), nil, label: "L", replacing: true)
    #expect(again == (id, false))
    #expect(try vault.secretText(id) == "new")
    #expect(try vault.reader.info(ofItem: id).accessibility == .afterFirstUnlock)
    #expect(try vault.reader.info(ofItem: id).metadata?.label == "L")

    let moved = try vault.add(["b": "2", "a": "1"], Array("x".utf8), .always, replacing: true)
    #expect(moved == (id, false))
    #expect(try vault.reader.info(ofItem: id).accessibility == .always)

    let second = try vault.add(["b": "2", "a": "1"], Array("twin".utf8), nil, replacing: false)
    #expect(second.isNew)
    #expect(try vault.secretText(id) == "x")
    for kept in [(more, "more"), (less, "less"), (other, "other")] {
      #expect(try vault.secretText(kept.0) == kept.1)
    }
  }

  @Test("Items of another collection are not replaced")
  func replacingElsewhere() throws {
    let id = try vault.add(["a": "1"], "here")
    let second = try vault.collections.create(label: "Second")
    let there = try vault.add(["a": "1"], Array("there".utf8), in: second, replacing: true)
    #expect(there.isNew)
    #expect(try vault.secretText(id) == "here")
  }

  @Test("Items without attributes are replaced by others without attributes")
  func replacingNothing() throws {
    let id = try vault.add([:], "one")
    _ = try vault.add(["a": "1"], "two")
    #expect(try vault.add([:], Array("three".utf8), replacing: true) == (id, false))
  }

  @Test("Items are found by any part of their attributes, the oldest first")
  func supersets() throws {
    let one = try vault.add(["app": "x", "user": "ann", "n": "1"], "1")
    let two = try vault.add(["app": "x", "user": "bob", "n": "2"], "2", .always)
    let three = try vault.add(["app": "y", "user": "ann", "n": "3"], "3", .afterFirstUnlock)
    #expect(try vault.ids(["app": "x"]) == [one, two])
    #expect(try vault.ids(["user": "ann"]) == [one, three])
    #expect(try vault.ids(["app": "x", "user": "bob"]) == [two])
    #expect(try vault.ids(["app": "y", "user": "bob"]) == [])
    #expect(try vault.ids(["app": "x", "user": "ann", "n": "1", "more": ""]) == [])
    // A search does not mix up name and value, and neither matches by prefix.
    #expect(try vault.ids(["ann": "user"]) == [])
    #expect(try vault.ids(["app": ""]) == [])
    #expect(try vault.ids(["ap": "px"]) == [])
    #expect(try vault.ids([:]) == [one, two, three])
  }

  @Test("Items are found by a search without attributes, the newest first, over all collections")
  func everything() throws {
    let second = try vault.collections.create(label: "Second")
    let ids = try (0..<6).map { try vault.add(["n": "\($0)"], "s", in: $0 % 2 == 0 ? 1 : second) }
    #expect(try vault.ids([:]) == ids)
    #expect(try vault.ids([:], in: second) == [ids[1], ids[3], ids[5]])
    #expect(try vault.reader.search(.accessibility(.whenUnlocked)).map(\.id) == ids.reversed())
    #expect(try vault.reader.search(.accessibility(.whenUnlocked), in: 1).map(\.id) == [ids[4], ids[2], ids[0]])
    #expect(try vault.reader.search(.accessibility(.always)) == [])
    #expect(try vault.ids(["n": "1"], in: 1) == [])
    #expect(try vault.ids(["n": "1"], in: second) == [ids[1]])
  }

  @Test("Items keep any secret", arguments: [0, 1, 59, 60, 61, 64, 4096, 16 << 20])
  func secretSizes(_ size: Int) throws {
    var secret = [UInt8](repeating: 7, count: size)
    for place in stride(from: 0, to: size, by: max(size / 4096, 1)) {
      secret[place] = UInt8(truncatingIfNeeded: place &* 131)
    }
    let id = try vault.add(["n": "1"], secret).id
    #expect(try vault.secretBytes(id) == secret)
  }

  @Test("Items refuse a secret above the limit")
  func tooLarge() throws {
    let large = try SecureBytes(count: SealedItem.secretLimit + 1)
    #expect(throws: VaultError.tooLarge) {
      try vault.writer.createItem(
        in: 1, ItemMetadata(label: "", attributes: [:], contentType: ""), secret: large, accessibility: nil,
        replacing: false)
    }
    #expect(try vault.reader.itemCount() == 0)
  }

  @Test("Items keep a mebibyte of attributes")
  func largeAttributes() throws {
    var attributes = ["huge": String(repeating: "é", count: 1 << 19)]
    for number in 0..<500 { attributes["name-\(number)"] = "value-\(number)" }
    let id = try vault.add(attributes, "s", label: String(repeating: "L", count: 70000))
    #expect(try vault.reader.info(ofItem: id).metadata?.attributes == attributes)
    #expect(try vault.reader.info(ofItem: id).metadata?.label.utf8.count == 70000)
    #expect(try vault.ids(["name-499": "value-499"]) == [id])
    #expect(try vault.add(attributes, Array("t".utf8), replacing: true) == (id, false))
  }

  @Test(
    "Items keep every byte of unicode and NUL",
    arguments: ["", "\0", "a\0b", "пароль", "🔑👩‍👩‍👧", "e\u{301}", "\u{e9}", "\u{feff}x", "line\r\nline"])
  func unicode(_ text: String) throws {
    let id = try vault.add(["name": text, text: "value"], text, label: text)
    #expect(Array(try vault.secretText(id).utf8) == Array(text.utf8))
    let metadata = try #require(try vault.reader.info(ofItem: id).metadata)
    #expect(Array(metadata.label.utf8) == Array(text.utf8))
    #expect(metadata.attributes["name"].map { Array($0.utf8) } == Array(text.utf8))
    #expect(try vault.ids([text: "value"]) == [id])
  }

  @Test("Items with equal-looking but different values are different items")
  func normalization() throws {
    let composed = try vault.add(["user": "\u{e9}"], "composed")
    let decomposed = try vault.add(["user": "e\u{301}"], Array("decomposed".utf8), replacing: true)
    #expect(decomposed.isNew)
    #expect(try vault.ids(["user": "\u{e9}"]) == [composed])
    #expect(try vault.ids(["user": "e\u{301}"]) == [decomposed.id])
  }

  @Test("Items never get the number of a deleted item, even after a restart")
  func numbers() throws {
    let home = try Home()
    func fill() throws -> [Int64] {
      let vault = try home.unlocked()
      let ids = try (0..<3).map { try vault.add(["n": "\($0)"], "s") }
      for id in ids { try vault.writer.deleteItem(id) }
      return ids
    }
    let first = try fill()
    let second = try fill()
    #expect(Set(first).isDisjoint(with: second))
    #expect(Set(first + second).count == 6)
    let vault = try home.unlocked()
    let collection = try vault.collections.create(label: "x")
    try vault.collections.delete(collection)
    #expect(try vault.collections.create(label: "y") > collection)
  }

  @Test("A missing collection and an unused number of an item are errors")
  func missing() throws {
    #expect(throws: VaultError.noSuchCollection) { try vault.add(["a": "1"], "s", in: 99) }
    #expect(throws: VaultError.noSuchCollection) { try vault.reader.items(in: 99) }
    #expect(throws: VaultError.noSuchItem) { try vault.reader.info(ofItem: 99) }
    #expect(throws: VaultError.noSuchItem) { try vault.isReadable(-1) }
    #expect(throws: VaultError.noSuchItem) { try vault.set(99, "x") }
    #expect(throws: VaultError.noSuchItem) { try vault.writer.update(item: .max) { $0.label = "" } }
    #expect(try vault.reader.collection(ofItem: .min) == nil)
  }

  @Test("Items keep the time of their creation, and get a new time when they change")
  func times() throws {
    let id = try vault.add(["a": "1"], "s")
    let made = try vault.reader.info(ofItem: id)
    #expect(made.created > 1_500_000_000 && made.modified == made.created)
    try vault.set(id, "t")
    let changed = try vault.reader.info(ofItem: id)
    #expect(changed.created == made.created && changed.modified >= made.modified)
  }

  @Test("Items in a new vault in memory get no number of the replaced vault")
  func numbersInMemory() throws {
    let first = try Vault(inMemoryWithLabel: "Session")
    #expect(try first.reader.lastItem() == 0)
    try first.add(["n": "1"], "one")
    let last = try first.add(["n": "2"], "two")
    try first.writer.deleteItem(last)
    let second = try Vault(inMemoryWithLabel: "Session", itemsAfter: try first.reader.lastItem())
    #expect(try second.reader.lastItem() == last)
    let next = try second.add(["n": "3"], "three")
    #expect(next == last + 1)
    #expect(try second.secretText(next) == "three")
    #expect(throws: VaultError.noSuchItem) { try second.secretText(1) }
  }

  @Test("Items that are larger than a vault allows are refused, and the former item stays")
  func beyondTheLimits() throws {
    let id = try vault.add(["a": "1"], "s", label: "l")
    func metadata(_ attributes: [String: String], type: String = "text/plain") -> ItemMetadata {
      ItemMetadata(label: "l", attributes: attributes, contentType: type)
    }
    let large = String(repeating: "x", count: 16 << 20)
    let many = Dictionary(uniqueKeysWithValues: (0...16384).map { ("n\($0)", "") })
    for wrong in [
      metadata(["a": large]), metadata([large: "a"]), metadata(many),
      metadata(["a": "1"], type: String(repeating: "t", count: 65536)),
    ] {
      for replacing in [false, true] {
        #expect(throws: VaultError.tooLarge) {
          try vault.writer.createItem(
            in: 1, wrong, secret: try secure([1]), accessibility: nil, replacing: replacing)
        }
      }
      #expect(throws: VaultError.tooLarge) { try vault.writer.update(item: id) { $0 = wrong } }
    }
    #expect(throws: VaultError.tooLarge) { try vault.writer.update(item: id) { $0.label = large } }
    #expect(throws: VaultError.tooLarge) {
      try vault.writer.setSecret(ofItem: id, try secure([1]), contentType: String(repeating: "t", count: 65536))
    }
    #expect(try vault.ids(many) == [])
    #expect(try vault.reader.itemCount() == 1)
    #expect(try vault.reader.info(ofItem: id).metadata == metadata(["a": "1"]))
    #expect(try vault.secretText(id) == "s")
    // The largest attributes that fit.
    let fitting = Dictionary(uniqueKeysWithValues: (0..<16384).map { ("n\($0)", "") })
    try vault.writer.update(item: id) {
      $0.attributes = fitting
      $0.contentType = String(repeating: "t", count: 65535)
    }
    #expect(try vault.ids(fitting) == [id])
    #expect(try vault.reader.secret(ofItem: id).contentType.utf8.count == 65535)
  }

  @Test("Items never get a version older than the one before, whatever the clock says")
  func clockSetBack() throws {
    let id = try vault.add(["n": "1"], "before")
    let row = try #require(try vault.database.ready().item(id))
    let future = row.modified + 100_000
    var item = try vault.reader.locate(row)
    let opened = try #require(try item.openMetadata(vault.keys.index))
    try item.relabel(opened.metadata, revision: opened.revision, tokens: row.tokens, modified: future)
    let next = item.row
    try vault.database.writing { store throws(VaultError) in try store.update(next) }
    try vault.set(id, "after the clock was set back")
    #expect(try #require(try vault.database.ready().item(id)).modified >= future)
    try vault.writer.update(item: id) { $0.label = "other" }
    #expect(try #require(try vault.database.ready().item(id)).modified >= future)
    #expect(try vault.secretText(id) == "after the clock was set back")
  }
}
