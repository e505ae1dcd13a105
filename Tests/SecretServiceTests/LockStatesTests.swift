import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault
import Testing

@testable import LatchkeySecretService

/// Locked objects as clients see them, for a vault in memory and without a bus.
@Suite("Locked objects") struct LockStatesTests {
  private let vault: Vault
  private let tree: CollectionTree
  private let daemon = StandInDaemon()
  private let queue: PromptQueue
  private let grants: AccessGrants
  private let locks: LockStates
  private let login = "/org/freedesktop/secrets/collection/login"
  private let client = ":1.1"

  init() throws {
    try Sodium.initialize()
    vault = try Vault(inMemoryWithLabel: "Login")
    tree = try CollectionTree(vault)
    let loop = try EventLoop()
    queue = PromptQueue(loop: loop, delegate: daemon)
    grants = AccessGrants(loop: loop, queue: queue)
    locks = LockStates(tree, grants: grants, delegate: daemon)
  }

  private func add() throws -> String {
    let id = try vault.writer.createItem(
      NewItem(ItemMetadata(label: "a", attributes: ["a": "b"], contentType: "text/plain"), in: 1),
      secret: try SecureBytes(copying: [1].span.bytes)
    ).id
    return "\(login)/\(id)"
  }

  @Test("A locked session locks the collection and its items")
  func session() throws {
    let item = try add()
    for path in [login, item] { #expect(try locks.state(of: path, for: client) == .unlocked) }
    vault.lock()
    for path in [login, item] { #expect(try locks.state(of: path, for: client) == .locked) }
  }

  @Test("Behind a locker the collection counts as unlocked, because nobody could answer, but its items count as locked")
  func locker() throws {
    let item = try add()
    vault.lock()
    daemon.isLockerUp = true
    #expect(try locks.state(of: login, for: client) == .unlocked)
    #expect(try locks.state(of: item, for: client) == .locked)
  }

  @Test("A missing object is not locked and not unlocked", arguments: ["/77", "/../c2", "x"])
  func absent(end: String) throws {
    #expect(try locks.state(of: login + end, for: client) == .absent)
  }

  @Test("An item with requirements is locked for a client without a grant")
  func guarded() {
    #expect(!locks.mayRead(1, .guarded, for: client) && locks.mayRead(1, .open, for: client))
  }
}
