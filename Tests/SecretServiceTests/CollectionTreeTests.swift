import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault
import Testing

@testable import LatchkeySecretService

/// The objects at the paths, for a vault in memory and without a bus.
@Suite("The tree of collections and items") struct CollectionTreeTests {
  private let vault: Vault
  private let tree: CollectionTree

  init() throws {
    try Sodium.initialize()
    vault = try Vault(inMemoryWithLabel: "Login")
    tree = try CollectionTree(vault)
  }

  private func add(to vault: Vault) throws -> Int64 {
    try vault.writer.createItem(
      NewItem(
        ItemMetadata(label: "a", attributes: ["a": "b"], contentType: "text/plain"), in: vault.collections.ids[0]),
      secret: try SecureBytes(copying: [1, 2, 3].span.bytes)
    ).id
  }

  @Test("An item is at its collection's path, and at an alias's path")
  func item() throws {
    let id = try add(to: vault)
    try vault.collections.setAlias("default", to: 1)
    for path in ["collection/login", "aliases/default"] {
      let item = try tree.item(at: "/org/freedesktop/secrets/\(path)/\(id)")
      #expect(item == ItemPlace(collection: .vault(1), id: id))
      #expect(tree.path(of: item) == "/org/freedesktop/secrets/collection/login/\(id)")
    }
  }

  @Test("A collection is found by its name and its number, and answers use its name")
  func name() throws {
    let id = try vault.collections.create(label: "My Keys")
    let folder = "/org/freedesktop/secrets/collection/"
    for label in ["My Keys", "Renamed"] {
      try vault.collections.setLabel(of: id, label)
      #expect(try tree.collection(at: folder + "My_5fKeys") == .vault(id))
      #expect(try tree.collection(at: folder + "c\(id)") == .vault(id))
      #expect(tree.places.map { tree.path(of: $0) } == ["login", "My_5fKeys", "session"].map { folder + $0 })
    }
    #expect(ItemPlace(collection: .vault(id), id: 3).numberPath == folder + "c\(id)/3")
    #expect(!tree.exists(.named("Renamed")))
  }

  @Test(
    "A path to nothing is the error for a missing object",
    arguments: ["collection/login/77", "collection/c2/1", "collection/session/1", "aliases/nobody/1", "prompt/s1"])
  func absent(path: String) throws {
    _ = try add(to: vault)
    #expect {
      try tree.item(at: "/org/freedesktop/secrets/" + path)
    } throws: { ($0 as? BusError)?.isNoSuchObject == true }
  }

  @Test("An item of the session's collection is not one of the login's, and ends with the session")
  func session() throws {
    let (held, _) = tree.holder(tree.sessionPlace)
    let id = try add(to: held)
    let path = "/org/freedesktop/secrets/collection/session/\(id)"
    #expect(try tree.item(at: path).collection == tree.sessionPlace)
    #expect(tree.itemPaths(below: "/org/freedesktop/secrets/collection/session") == [path])
    #expect(tree.itemPaths(below: "/org/freedesktop/secrets/collection/login") == [])
    #expect(tree.endSession().map { tree.path(of: $0) } == [path])
    #expect(tree.itemPaths(below: "/org/freedesktop/secrets/collection/session") == [])
    // A client's old path leads to no later item.
    #expect(try add(to: tree.holder(tree.sessionPlace).vault) > id)
  }
}
