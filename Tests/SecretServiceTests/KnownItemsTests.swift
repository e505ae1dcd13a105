import Testing

@testable import LatchkeySecretService

@Suite("A client's knowledge of items") struct KnownItemsTests {
  private let locked = KnownItems.Knowledge(isLocked: true, hasMetadata: false)
  private let open = KnownItems.Knowledge(isLocked: false, hasMetadata: true)

  @Test("A client's knowledge of items is the last answer to each client, until the item or the client is gone")
  func told() {
    var known = KnownItems()
    known.note(locked, of: 1, by: "a")
    known.note(open, of: 1, by: "b")
    known.note(open, of: 2, by: "a")
    known.note(open, of: 2, by: "a")
    #expect(known.count == 3)
    #expect(known.knowledge(of: 1, by: "a") == locked)
    #expect(known.knowledge(of: 1, by: "b") == open)
    #expect(known.knowledge(of: 2, by: "b") == nil)
    known.note(open, of: 1, by: "a")
    #expect(known.knowledge(of: 1, by: "a") == open)
    known.forget(2, by: "a")
    known.forget(2, by: "nobody")
    #expect(known.knowledge(of: 2, by: "a") == nil && known.count == 2)
    known.forget(client: "a")
    known.forget(client: "a")
    #expect(known.knowledge(of: 1, by: "a") == nil && known.count == 1)
  }

  @Test("A client's knowledge of items is doubted once for each item when keys come or go")
  func doubts() {
    var known = KnownItems(half: 4)
    for item in Int64(1)...6 { known.note(locked, of: item, by: "a") }
    known.note(locked, of: 1, by: "b")
    #expect(known.takeDoubt() == nil && !known.hasDoubts("a"))
    known.doubtAll()
    known.doubtAll()
    #expect(known.hasDoubts("a") && known.hasDoubts("b") && !known.hasDoubts("c"))
    known.forget(3, by: "a")
    var taken: [String: [Int64]] = [:]
    while let (item, client) = known.takeDoubt() { taken[client, default: []].append(item) }
    #expect(taken.mapValues { $0.sorted() } == ["a": [1, 2, 4, 5, 6], "b": [1]])
    #expect(!known.hasDoubts("a"))
  }

  @Test("A client's knowledge of items is checked for each client and each item in turn, however often keys come or go")
  func turns() {
    var known = KnownItems()
    for item in Int64(1)...50 {
      known.note(locked, of: item, by: "a")
      known.note(locked, of: item, by: "b")
    }
    var taken: [String: Set<Int64>] = [:]
    for _ in 0..<100 {
      known.doubtAll()
      if let (item, client) = known.takeDoubt() { taken[client, default: []].insert(item) }
    }
    #expect(taken.mapValues(\.count) == ["a": 50, "b": 50])
  }

  @Test("A client's knowledge of items can be doubted for one item and client, if the client knows the item")
  func one() {
    var known = KnownItems()
    known.note(locked, of: 1, by: "a")
    known.doubt(2, by: "a")
    known.doubt(1, by: "b")
    #expect(known.takeDoubt() == nil)
    known.doubt(1, by: "a")
    let taken = known.takeDoubt()
    #expect(taken?.item == 1 && taken?.client == "a")
    known.doubt(1, by: "a")
    known.forget(client: "a")
    #expect(known.takeDoubt() == nil)
  }

  @Test("A client's knowledge of items is bounded: of very many items, only the last ones are remembered")
  func bounded() {
    var known = KnownItems(half: 100, limit: 1000)
    for item in Int64(1)...100_000 {
      known.note(locked, of: item, by: "a")
      if item > 100 { #expect(known.knowledge(of: item - 99, by: "a") != nil) }
    }
    #expect(known.count <= 200 && known.knowledge(of: 1, by: "a") == nil)
    known.doubtAll()
    var count = 0
    while known.takeDoubt() != nil { count += 1 }
    #expect(count == known.count)
  }

  @Test("A client's knowledge of items is bounded over all clients: the client with the most entries loses first")
  func boundedOverAll() {
    var known = KnownItems(half: 100, limit: 1000)
    known.note(open, of: 7, by: "modest")
    for client in 1...50 {
      for item in Int64(1)...150 { known.note(locked, of: item, by: "greedy \(client)") }
      #expect(known.count <= 1000)
    }
    #expect(known.knowledge(of: 7, by: "modest") == open)
    for client in 1...50 { known.forget(client: "greedy \(client)") }
    #expect(known.count == 1)
  }
}
