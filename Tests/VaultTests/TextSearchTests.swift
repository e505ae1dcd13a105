import LatchkeyKeybag
import Testing

@testable import LatchkeyVault

@Suite("Text search")
struct TextSearchTests {
  let home: Home
  let vault: Vault

  init() throws {
    home = try Home()
    vault = try home.unlocked()
  }

  private func add(_ count: Int, _ label: (Int) -> String = { "Mail \($0)" }) throws -> [Int64] {
    try (0..<count).map { try vault.add(["n": "\($0)", "Site": "Example.org"], "secret", label: label($0)) }
  }

  /// All steps of a search. The test changes something after each step.
  private func found(
    _ words: String..., limit: Int = 1000, between: () throws -> Void = {}
  ) throws -> (items: [Int64], unread: Int, steps: Int) {
    var (all, unread, steps, next) = ([Int64](), 0, 0, Int64(0))
    repeat {
      let page = try vault.texts.step(TextSearch.Words(words), in: 1, from: next, limit: limit)
      #expect(page.items.count <= limit)
      #expect(page.next == 0 || next == 0 || page.next < next)
      (all, unread, steps, next) = (all + page.items, unread + page.unread, steps + 1, page.next)
      if next > 0 { try between() }
    } while next > 0
    return (all, unread, steps)
  }

  @Test("A text search finds labels and values by parts, in small or capital letters, but no names of attributes")
  func words() throws {
    let made = try add(3) { ["Bank account", "Größe", "Mail"][$0] }
    #expect(try found().items == made.reversed())
    #expect(try found("BANK").items == [made[0]])
    #expect(try found("grÖß").items == [made[1]])
    #expect(try found("acc", "ample.ORG", "").items == [made[0]])
    #expect(try found("example").items == made.reversed())
    #expect(try found("site").items == [])
    #expect(try found("bankaccount").items == [])
  }

  @Test("A text search goes through the pages once, whatever changes between them", arguments: [[], ["mail"]])
  func changes(_ words: [String]) throws {
    let made = try add(40)
    var deleted = 0
    let pages = try words.isEmpty ? found(limit: 7) { try change() } : found("mail", limit: 7) { try change() }
    func change() throws {
      _ = try add(1)
      // Deletes one item that was already shown, and one that the search has not reached.
      try vault.writer.deleteItem(made[39 - deleted])
      if deleted == 0 { try vault.writer.deleteItem(made[0]) }
      deleted += 1
    }
    #expect(pages.items == Array(made.dropFirst().reversed()))
    #expect(pages.steps == 6)
  }

  @Test("A text search opens a bounded number of items in a step, and few of those that it knows")
  func bounded() throws {
    let made = try add(700) { $0 == 3 ? "needle" : "hay" }
    let first = try found("needle")
    #expect(first.items == [made[3]])
    #expect(first.steps > 1)
    #expect(try found("needle").steps == 1)
    vault.texts.forget()
    #expect(try found("", limit: 0).steps == first.steps)
    #expect(try found("needle").steps == 1)
  }

  @Test("A text search knows an item by its present text")
  func rewritten() throws {
    let made = try add(2)
    #expect(try found("bank").items == [])
    try vault.writer.update(item: made[0]) { $0.label = "Bank" }
    #expect(try found("bank").items == [made[0]])
    try vault.writer.deleteItem(made[0])
    #expect(try found("bank").items == [])
  }

  @Test("A text search takes an item's number below 1 for damage", arguments: [[], ["mail"]])
  func negative(_ words: [String]) throws {
    let made = try add(2)
    try vault.database.ready().database.execute(
      "PRAGMA foreign_keys = OFF; UPDATE item SET id = -5 WHERE id = \(made[0])")
    #expect(throws: VaultError.self) {
      _ = try vault.texts.step(TextSearch.Words(words), in: 1, from: 0, limit: 1000)
    }
  }

  @Test("A text search says how many items have unreadable labels, and a lock erases the texts that it knew")
  func locked() throws {
    _ = try add(1)
    let passcode = try vault.add(["n": "p"], "secret", .whenPasscodeSetThisDeviceOnly, label: "Hidden mail")
    #expect(try found("hidden").items == [passcode])
    vault.lock()
    let behind = try found("hidden")
    #expect(behind.items == [] && behind.unread == 1)
    #expect(try found().items.first == passcode)
    try home.unlock(vault)
    #expect(try found("hidden").items == [passcode])
  }
}
