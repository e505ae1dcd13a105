import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyVault

@Suite("In the files")
struct SecrecyTests {
  let home: Home

  init() throws { home = try Home() }

  static let words = [
    "label-of-the-item", "attribute-name", "attribute-value", "the-very-secret", "name-of-alias",
    "label-of-collection", "content/of-type",
  ]

  func fill(_ vault: Vault) throws {
    let collection = try vault.collections.create(label: "label-of-collection")
    try vault.collections.setAlias("name-of-alias", to: collection)
    func item(_ accessibility: AccessibilityClass, in collection: Int64) throws {
      _ = try vault.writer.createItem(
        in: collection,
        ItemMetadata(
          label: "label-of-the-item", attributes: ["attribute-name": "attribute-value", "class": accessibility.name],
          contentType: "content/of-type"), secret: try secure(Array("the-very-secret".utf8)),
        accessibility: accessibility, replacing: false)
    }
    for accessibility in AccessibilityClass.allCases { try item(accessibility, in: collection) }
    vault.lock()
    try item(.whenUnlocked, in: 1)
  }

  @Test("nothing of an item can be read")
  func nothing() throws {
    let vault = try home.unlocked()
    try fill(vault)
    for whole in [false, true] {
      if whole { try vault.database.store?.database.checkpoint() }
      let files = home.contents
      #expect(files.count >= 4)
      // The control: the search finds the salt in the keybag, and column names in the database.
      let keybag = try #require(files["keybag"])
      #expect(contains(keybag, home.keybag.protectors[0].salt))
      #expect(files.values.contains { contains($0, Array("CREATE TABLE item".utf8)) })
      for (name, bytes) in files {
        for word in Self.words + ["Login", "when-unlocked"] {
          #expect(!(contains(bytes, Array(word.utf8)) as Bool), "\(word) in \(name)")
          #expect(!contains(bytes, word.utf8.flatMap { [$0, 0] }), "\(word) in UTF-16 in \(name)")
        }
        #expect(!contains(bytes, plain(home.tiers.unlocked)))
        #expect(!contains(bytes, plain(home.tiers.session)))
        #expect(!contains(bytes, Home.password))
      }
    }
  }

  @Test("The files do not show the sizes of short secrets and labels")
  func padding() throws {
    let vault = try home.unlocked()
    let store = try #require(vault.database.store)
    var sizes: Set<[Int]> = []
    for length in [0, 1, 8, 20] {
      let id = try vault.add(["a": "\(length)0".suffix(2).description], [UInt8](repeating: 65, count: length)).id
      let row = try #require(try store.item(id))
      sizes.insert([row.secret.count, row.metadata.count])
    }
    #expect(sizes.count == 1)
  }

  @Test("The files lose the ciphertext of a deleted, replaced or reclassified item once the log was emptied")
  func deleted() throws {
    let vault = try home.unlocked()
    let store = try #require(vault.database.store)
    let secret = [UInt8](repeating: 9, count: 20000)
    let ids = try (0..<8).map { try vault.add(["n": "\($0)"], secret).id }
    try store.database.checkpoint()
    let rows = try ids.map { try #require(try store.item($0)) }
    func traces(_ row: ItemRow) -> Int {
      home.contents.values.filter { file in
        stride(from: 0, to: row.secret.count - 32, by: 2000).contains {
          contains(file, Array(row.secret[$0..<($0 + 32)]))
        } || contains(file, row.itemKey) || contains(file, row.metadata)
      }.count
    }
    // The ciphertext must exist before, or the search below would prove nothing.
    #expect(rows.allSatisfy { traces($0) == 1 })
    for id in ids.prefix(3) { try vault.writer.deleteItem(id) }
    let replaced = try vault.add(["n": "3"], [UInt8](repeating: 9, count: 10), replacing: true)
    #expect(replaced == (ids[3], false))
    try vault.set(ids[4], "short")
    try vault.writer.update(item: ids[5], accessibility: .afterFirstUnlock) { _ in }
    vault.settleWhole()
    for row in rows.prefix(6) { #expect(traces(row) == 0) }
    for row in rows.suffix(2) { #expect(traces(row) == 1) }
    #expect(home.read("vault.db-wal").isEmpty)
    let free = try store.database.pragma("PRAGMA freelist_count")
    #expect(free > 10)
  }
}
