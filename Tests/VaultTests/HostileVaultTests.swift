import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium
import Testing

@testable import LatchkeySQLite
@testable import LatchkeyVault

@Suite("A database that is valid for SQLite but wrong")
struct HostileVaultTests {
  /// A change of the database only.
  private static func change(_ kind: UInt8, page: Int, _ rest: [UInt8] = [0, 0, 0, 0]) -> [UInt8] {
    [0, 0, HostileVault.statements + kind, UInt8(page - 1)] + rest
  }

  @Test("A wrong database returns no secret of another item, and lacks none silently, whichever page is reversed")
  func reversed() throws {
    let vault = HostileVault()
    let few = ["sqlite_autoindex_item_1", "item_collection", "token"]
    for page in try vault.pages(of: Cuts.each ? nil : few) {
      if let complaint = vault.complaint(Self.change(0, page: page)) { Issue.record("page \(page): \(complaint)") }
    }
  }

  @Test("A wrong database that SQLite accepts is checked before a generation is restored into it")
  func restored() throws {
    let home = try Home()
    do {
      let vault = try home.unlocked()
      for number in 0..<20 { try vault.add(["n": "\(number)"], "secret \(number)") }
      vault.settleWhole()
      try #require(vault.keepWholeHistory().count == 1)
      for id in 1...10 { try vault.writer.deleteItem(Int64(id)) }
      vault.settleWhole()
    }
    var file = try TreeFile(home.folder + "/" + KeybagFile.database)
    file.reverse(try file.root(of: "sqlite_autoindex_item_1"))
    file.write()
    let vault = try home.unlocked()
    #expect(throws: VaultError.self) { try vault.bringBack(from: 1, replacing: true) }
    #expect(vault.isDamaged)
    for id in 11...20 { #expect(try vault.secretText(Int64(id)) == "secret \(id - 1)") }
  }

  /// SQLite trusts an index's order. In an unordered index, a search for a missing value ends at another entry, and SQLite returns
  /// that entry.
  @Test("An unordered index leads to no other item, collection or protection")
  func disorder() throws {
    let specimen = try Specimen()
    for index in ["sqlite_autoindex_item_1", "item_collection", "item_class_key", "token", "token_item", "alias"] {
      try disorder(index, specimen)
    }
  }

  private func disorder(_ index: String, _ specimen: Specimen) throws {
    let home = try Home(copying: specimen.home)
    let path = home.folder + "/" + KeybagFile.database
    home.remove(KeybagFile.database + "-wal")
    let aliases = try Store(path: path, vault: home.keybag.vault).aliases()
    for isReversed in [true, false] {
      home.remove(KeybagFile.database + "-wal")
      home.write(KeybagFile.database, specimen.database)
      var file = try TreeFile(path)
      for page in file.leaves(of: try file.root(of: index)) {
        if isReversed { file.reverse(page) } else { file.rotate(page) }
      }
      file.write()
      let store = try Store(path: path, vault: home.keybag.vault)
      let ids = try store.items(after: 0, limit: 1000)
      for id in ids {
        let row = try #require(try store.item(id))
        for uuid in [row.uuid, Sodium.randomBytes(16)] {
          let found = try? store.item(uuid: uuid)
          #expect(found == nil || (found == id && uuid == row.uuid))
          let protection = try? ItemProtections(store).of(uuid: uuid)
          #expect(protection.map { $0.uuid == uuid } ?? true)
        }
        for token in AttributeIndex.split(row.tokens) + [Sodium.randomBytes(16)] {
          for place in (try? store.places(withTokens: [token])) ?? [] {
            #expect(try store.tokens(ofItem: place.item).contains(token))
          }
          for place in (try? store.places(withTokens: [token, row.tokens.suffix(16)])) ?? [] {
            #expect(place.item == id)
          }
        }
        for number in [row.collection, row.collection + 10] {
          for place in (try? store.places(in: number)) ?? [] { #expect(place.collection == number) }
        }
        for number in [row.classKey, row.classKey + 1, row.classKey + 100] {
          for place in (try? store.places(classKey: number)) ?? [] { #expect(place.classKey == number) }
        }
      }
      for row in aliases {
        for token in [row.token, Sodium.randomBytes(16)] {
          guard let found = try? store.alias(token) else { continue }
          #expect(found == row.collection && token == row.token)
        }
      }
      #expect(!store.isWhole, "\(index), \(isReversed ? "reversed" : "rotated")")
    }
  }

  private static let trees = [
    "vault", "device", "collection", "sqlite_autoindex_collection_1", "sqlite_sequence", "class_key",
    "sqlite_autoindex_class_key_1", "item", "sqlite_autoindex_item_1", "item_collection", "item_class_key", "token",
    "token_item", "alias", "access_log",
  ]

  @Test("A wrong database returns rows without end, and costs a salvage no more than a whole database")
  func endless() throws {
    let patient = try Patient()
    for tree in Self.trees {
      let spent = try salvage(patient, repeating: tree)
      #expect(spent < 1 << 22, "\(tree)")
    }
  }

  /// Reads all rows of a database in which a tree repeats one page many times.
  ///
  /// - Returns: the number of operations of the salvage.
  private func salvage(_ patient: Patient, repeating tree: String) throws -> Int64 {
    let home = patient.home
    let vault = home.keybag.vault
    let path = home.folder + "/" + KeybagFile.database
    let sound = home.generations + "/" + (try #require(namesInFolder(home.generations).first))
    home.remove(KeybagFile.database + "-wal")
    home.write(KeybagFile.database, patient.database)
    var file = try TreeFile(path)
    file.multiply(try file.root(of: tree))
    file.write()
    let budget = WorkBudget(forFilesOf: Int64(file.pages * TreeFile.size))
    let before = budget.left
    let folder = try KeybagFile.folder(home: home.path, owner: getuid())
    let salvage = try #require(
      try Salvage(
        of: KeybagFile.database, in: folder, path: home.folder, vault: vault, sound: sound, budget: budget))
    _ = salvage.rows { store throws(VaultError) in [try store.vaultRow()] }
    _ = salvage.rows { store throws(VaultError) in try store.devices() }
    _ = salvage.rows { store throws(VaultError) in try store.collections() }
    _ = salvage.rows { store throws(VaultError) in try store.classKeys() }
    _ = salvage.rows { store throws(VaultError) in try store.aliases() }
    for table in NumberedTable.allCases { _ = (salvage.agrees(table), salvage.last(table)) }
    _ = salvage.references()
    return before - budget.left
  }

  @Test("A wrong database has no more rows read into memory than there are, before it is verified")
  func rowsWithoutEnd() throws {
    let home = try Home()
    let vault = try home.unlocked()
    for number in 0..<5 { try vault.add(["n": "\(number)", "app": "all"], "secret \(number)") }
    vault.settleWhole()
    let path = home.folder + "/" + KeybagFile.database
    let sound = try #require(readFile(path))
    let row = try #require(try vault.database.ready().item(1))
    // The first token in the index.
    let tokens = try (1...5).map { AttributeIndex.split(try vault.database.ready().item($0)?.tokens ?? []) }.joined()
    let token = try #require(tokens.min { $0.lexicographicallyPrecedes($1) })
    let reads: [(index: String, read: (Store) throws -> Any)] = [
      ("item_collection", { try $0.items(in: row.collection) }),
      ("item_collection", { try $0.places(in: row.collection) }),
      ("item_class_key", { try $0.places(classKey: row.classKey) }),
      ("item_class_key", { try $0.items(classKey: row.classKey, limit: 1 << 40) }),
      ("token", { try $0.places(withTokens: [token]) }),
      ("token_item", { try $0.checkTokens(of: row) }),
    ]
    for (index, read) in reads {
      let copy = try Home()
      let path = copy.path + "/" + KeybagFile.database
      writeFile(path, sound)
      var file = try TreeFile(path)
      let root = try file.root(of: index)
      file.setCells(1, of: root)
      file.multiply(root)
      file.write()
      let store = try Store(path: path, vault: home.keybag.vault)
      let budget = WorkBudget(operations: 1 << 22)
      store.database.budget = budget
      #expect(throws: VaultError.self, "\(index)") { try read(store) }
      #expect(budget.left > 1 << 21, "\(index)")
    }
  }

  @Test("A wrong database costs several connections together no more work than their budget")
  func budget() throws {
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    let budget = WorkBudget(operations: 1 << 20)
    let databases = try (0..<3).map { _ in try Database(path: ":memory:", mode: .memory) }
    for database in databases {
      database.budget = budget
      #expect(throws: SQLiteError.self) { try database.execute(endless) }
    }
    #expect(budget.left < Database.workPiece)
    #expect(databases.dropFirst().allSatisfy { $0.work == 1 })
    #expect(WorkBudget(forFilesOf: .max).left < 1 << 31)
  }
}
