import LatchkeyKeybag
import Testing

@testable import LatchkeyVault

/// Content that somebody without any key can write into the database, with valid check sums.
@Suite("Hostile content")
struct HostileFileTests {
  /// Runs statements on the database while no vault has it open.
  private func edit(_ home: Home, _ body: (Store) throws -> Void) throws {
    let store = try Store(path: home.folder + "/vault.db", vault: home.keybag.vault)
    try body(store)
    try store.database.checkpoint()
  }

  @Test("numbers that no vault writes are errors, not traps or endless loops")
  func hostileNumbers() throws {
    let specimen = try Specimen()
    for value in [Int64.min, -1, .max, 1 << 40] {
      for column in ["ordinal", "epoch", "created", "modified"] {
        let home = try Home(copying: specimen.home)
        try edit(home) { store in
          let row = try #require(try store.collections().last)
          let bits = UInt64(bitPattern: value)
          let next = CollectionRow(
            id: row.id, uuid: row.uuid, ordinal: column == "ordinal" ? bits : row.ordinal,
            epoch: column == "epoch" ? bits : row.epoch, label: row.label, locked: row.locked,
            passphrase: row.passphrase, defaultClass: row.defaultClass,
            created: column == "created" ? bits : row.created, modified: column == "modified" ? bits : row.modified)
          try store.database.execute("UPDATE collection SET \(column) = \(value) WHERE id = \(row.id)")
          try store.database.statement("UPDATE collection SET checksum = ? WHERE id = ?")
            .bind(1, next.checksum).bind(2, row.id).run()
        }
        let vault = home.vault()
        _ = try? home.unlock(vault)
        _ = try? vault.collections.lock(specimen.second)
        _ = try? vault.collections.setLabel(of: specimen.second, "x")
        _ = try? vault.collections.create(label: "y")
        _ = try? vault.add(["a": "1"], "s")
        vault.verifyToEnd()
        for item in specimen.items {
          if let secret = try? vault.secretText(item.id) { #expect(secret == item.secret) }
        }
      }
      for table in ["item", "collection", "class_key"] {
        let home = try Home(copying: specimen.home)
        try edit(home) { store in
          try store.database.execute("PRAGMA writable_schema = ON")
          try store.database.execute("UPDATE sqlite_sequence SET seq = \(value) WHERE name = '\(table)'")
        }
        let vault = home.vault()
        _ = try? home.unlock(vault)
        _ = try? vault.add(["a": "1"], "s")
        _ = try? vault.collections.create(label: "y")
        for item in specimen.items {
          if let secret = try? vault.secretText(item.id) { #expect(secret == item.secret) }
        }
      }
    }
  }

  @Test("a counter that was put back gives no new item the number of an old one", arguments: [0, 1, 5])
  func counterPutBack(_ value: Int64) throws {
    let specimen = try Specimen()
    let home = try Home(copying: specimen.home)
    try edit(home) { try $0.database.execute("UPDATE sqlite_sequence SET seq = \(value)") }
    let vault = home.vault()
    _ = try? home.unlock(vault)
    for number in 0..<10 { _ = try? vault.add(["new": "\(number)"], "new") }
    _ = try? vault.collections.create(label: "new")
    for item in specimen.items {
      #expect((try? vault.secretText(item.id)) ?? item.secret == item.secret)
    }
    vault.verifyToEnd()
    #expect(vault.problemTexts != [])
  }

  @Test("two items whose index entries were exchanged are not returned for each other")
  func exchangedTokens() throws {
    let specimen = try Specimen()
    let home = try Home(copying: specimen.home)
    let (one, two) = (specimen.items[0], specimen.items[6])
    try edit(home) { store in
      var first = try #require(try store.item(one.id))
      var second = try #require(try store.item(two.id))
      (first.tokens, second.tokens) = (second.tokens, first.tokens)
      try store.transaction { () throws(VaultError) in
        try store.update(first)
        try store.update(second)
      }
    }
    let vault = home.vault()
    try home.unlock(vault)
    vault.verifyToEnd()
    for item in [one, two] {
      guard let found = try? vault.ids(["name": item.name]) else { continue }
      for id in found {
        let secret = try? vault.secretText(id)
        #expect(secret == nil || secret == item.secret)
      }
    }
  }

  @Test("two items with exchanged numbers are found by their own attributes")
  func exchangedNumbers() throws {
    let specimen = try Specimen()
    let home = try Home(copying: specimen.home)
    let (one, two) = (specimen.items[0], specimen.items[6])
    try edit(home) { store in
      var first = try #require(try store.item(one.id))
      var second = try #require(try store.item(two.id))
      (first.id, second.id) = (second.id, first.id)
      try store.transaction { () throws(VaultError) in
        for row in [first, second] { _ = try store.deleteItem(row.id) }
        for row in [first, second] { try store.insert(row) }
      }
    }
    let vault = try home.unlocked()
    vault.verifyToEnd()
    for (item, number) in [(one, two.id), (two, one.id)] {
      #expect(try vault.ids(["name": item.name]) == [number])
      #expect(try vault.secretText(number) == item.secret)
    }
  }

  @Test(
    "halves of two versions or two items do not go together",
    arguments: [
      "secret", "itemKey", "secret and key", "metadata", "other item",
    ])
  func mixedHalves(_ part: String) throws {
    let home = try Home()
    var rows: [ItemRow] = []
    var other: ItemRow?
    do {
      let vault = try home.unlocked()
      let id = try vault.add(["a": "1"], "one")
      let second = try vault.add(["a": "1"], "two")
      let store = try #require(vault.database.store)
      rows.append(try #require(try store.item(id)))
      other = try store.item(second)
      try vault.set(id, "three")
      rows.append(try #require(try store.item(id)))
    }
    let old = rows[0]
    let stranger = try #require(other)
    try edit(home) { store in
      var row = rows[1]
      switch part {
      case "secret": row.secret = old.secret
      case "itemKey": row.itemKey = old.itemKey
      case "secret and key": (row.secret, row.itemKey) = (old.secret, old.itemKey)
      case "metadata": row.metadata = old.metadata
      default: (row.secret, row.itemKey, row.metadata) = (stranger.secret, stranger.itemKey, stranger.metadata)
      }
      try store.transaction { () throws(VaultError) in try store.update(row) }
    }
    let vault = try home.unlocked()
    #expect(throws: VaultError.self) { try vault.secretText(1) }
    #expect(vault.isDamaged)
    #expect(throws: VaultError.self) { try vault.add(["b": "1"], "s") }
    #expect(try vault.secretText(2) == "two")
  }

  @Test("an item that claims another class is not opened by that class's key")
  func claimedClass() throws {
    let home = try Home()
    do {
      let vault = try home.unlocked()
      try vault.add(["a": "1"], "one", .whenUnlocked)
      try vault.add(["a": "2"], "two", .always)
    }
    try edit(home) { store in
      var row = try #require(try store.item(1))
      row.classKey = try #require(try store.item(2)).classKey
      try store.transaction { () throws(VaultError) in try store.update(row) }
    }
    let vault = try home.unlocked()
    #expect(throws: VaultError.self) { try vault.secretText(1) }
    #expect(try vault.secretText(2) == "two")
  }

  @Test("a collection's forged default class does not weaken new items")
  func claimedDefault() throws {
    let home = try Home()
    do { _ = try home.unlocked() }
    try edit(home) { store in
      let row = try #require(try store.collections().first)
      let next = CollectionRow(
        id: row.id, uuid: row.uuid, ordinal: row.ordinal, epoch: row.epoch, label: row.label, locked: row.locked,
        passphrase: nil, defaultClass: .always, created: row.created, modified: row.modified)
      try store.database.execute("UPDATE collection SET default_class = 8")
      try store.database.statement("UPDATE collection SET checksum = ?").bind(1, next.checksum).run()
    }
    let vault = home.vault()
    _ = try? home.unlock(vault)
    if let id = try? vault.add(["a": "1"], "s") {
      #expect(try vault.reader.info(ofItem: id).accessibility == .whenUnlocked)
    }
  }

  @Test("an added trigger or view is not run")
  func foreignSchema() throws {
    for sql in [
      "CREATE TABLE kept (id INTEGER PRIMARY KEY, secret BLOB)",
      "CREATE TRIGGER keep AFTER DELETE ON item BEGIN UPDATE item SET modified = 0; END",
      "DROP INDEX token_item",
    ] {
      let specimen = try Specimen()
      let home = try Home(copying: specimen.home)
      try edit(home) { try $0.database.execute(sql) }
      let file = home.read("vault.db")
      do {
        let vault = home.vault()
        #expect(vault.problemTexts.contains { $0.hasPrefix("vault.db: ") }, "\(sql)")
        #expect(throws: VaultError.self) { try home.unlock(vault) }
      }
      #expect((home.read("vault.db") == file) as Bool)
    }
  }
}
