import LatchkeySystemd
import LatchkeyVault

/// `Search` of `org.latchkey.Collection`: items by words, in steps that each take a few milliseconds.
final class CollectionSearch {
  /// The most words that a search may have.
  private static let wordLimit = 32

  private let tree: CollectionTree
  private let locks: LockStates
  private let clients: Clients
  /// The clients for whom letters of items stay in memory.
  private var searching: Set<String> = []

  init(_ tree: CollectionTree, locks: LockStates, clients: Clients) {
    (self.tree, self.locks, self.clients) = (tree, locks, clients)
  }

  var method: ObjectInterface.Method {
    .init(
      "Search", input: [.init("as", "words"), .init("t", "from"), .init("u", "limit")],
      output: [.init("at", "items"), .init("t", "next"), .init("u", "unread")], handler: search)
  }

  private func search(_ call: MethodCall) throws(BusError) {
    let place = try tree.collection(at: call.path)
    let words = try call.message.readStrings()
    let from = try call.message.readUInt64()
    let limit = try call.message.readUInt32()
    guard words.count <= Self.wordLimit, words.reduce(0, { $0 + $1.utf8.count }) <= TextSearch.Words.limit else {
      throw .limitsExceeded(
        "a search takes \(Self.wordLimit) words, and \(TextSearch.Words.limit) bytes of them, at most")
    }
    guard let start = Int64(exactly: from) else { throw .invalidArguments("no item has such a number") }
    let page =
      place == CollectionTree.firstPlace && locks.isVaultMissing
      ? TextPage() : try step(place, TextSearch.Words(words), start, Int(limit))
    searching.insert(call.sender)
    clients.watch(call.sender)
    call.reply { out in
      out.appendArray("t", of: page.items) { $0.appendUInt64(UInt64(clamping: $1)) }
      out.appendUInt64(UInt64(clamping: page.next))
      out.appendUInt32(UInt32(page.unread))
    }
  }

  private func step(
    _ place: CollectionPlace, _ words: TextSearch.Words, _ start: Int64, _ limit: Int
  ) throws(BusError) -> TextPage {
    let (vault, id) = tree.holder(place)
    return try BusError.vault { () throws(VaultError) in try vault.texts.step(words, in: id, from: start, limit: limit)
    }
  }

  /// Forgets a client that has left. When the last client that searched has left, the letters of all items are erased.
  func forget(client: String) {
    guard searching.remove(client) != nil, searching.isEmpty else { return }
    tree.vault.texts.forget()
    tree.sessionVault.texts.forget()
  }
}
