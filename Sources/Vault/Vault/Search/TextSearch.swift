import LatchkeyPosix
import LatchkeySodium

/// The result of one step of a text search.
public struct TextPage: Equatable, Sendable {
  /// The numbers of items, the newest first.
  public var items: [Int64]
  /// The search continues with the items below this number. 0 at its end.
  public var next: Int64
  /// The number of items that were not searched, because their labels cannot be read now.
  public var unread: Int

  /// Puts the values together.
  public init(items: [Int64] = [], next: Int64 = 0, unread: Int = 0) {
    (self.items, self.next, self.unread) = (items, next, unread)
  }
}

/// Finds items by words in their labels and in the values of their attributes, for a person who types them.
///
/// A search goes through a collection from its newest item to its oldest, in steps of a few milliseconds each. Items keep their
/// numbers, and new items get higher numbers. So a change between two steps neither hides an item nor shows it twice. A step
/// remembers the letters of each item that it opens (``TextIndex``, 33 bytes an item), so the next word opens few items.
public final class TextSearch {
  /// The words of a search. An item is found if each word occurs in it.
  public struct Words {
    /// The limit of all words together, in bytes.
    public static let limit = 1024

    fileprivate let words: [(text: [UInt8], letters: TextLetters)]

    /// Small and capital letters mean the same. Empty words mean nothing.
    public init(_ words: [String]) {
      self.words = words.filter { !$0.isEmpty }.map { word in
        let text = TextSearch.folded(word)
        return (text, TextLetters(text))
      }
    }

    var isEmpty: Bool { words.isEmpty }

    func mayOccur(in letters: TextLetters) -> Bool { words.allSatisfy { letters.mayHave($0.letters) } }

    func occur(in text: [UInt8]) -> Bool { words.allSatisfy { TextSearch.contains(text, $0.text) } }
  }

  /// The most items that one step finds if no words are named. Such a step opens no item.
  public static let pageLimit = 4096
  /// The most items that one step opens.
  static let openedLimit = 384
  /// The most blocks that one step passes.
  private static let blockLimit = 1024

  private let database: VaultDatabase
  private let keys: VaultKeys
  private let reader: ItemReader
  /// The class keys by which the index of a collection was made.
  private var readable: [Int64: [Int64]] = [:]

  init(_ database: VaultDatabase, _ keys: VaultKeys, _ reader: ItemReader) {
    (self.database, self.keys, self.reader) = (database, keys, reader)
  }

  /// Forgets the letters of all items. Called when nobody searches any more, and when keys were erased.
  public func forget() {
    database.store?.texts.removeAll()
    readable = [:]
    Process.returnFreedMemory()
  }

  /// One step of a search.
  ///
  /// - Parameters:
  ///   - words: no words find every item.
  ///   - next: the `next` of the last step; 0 for the first step.
  ///   - limit: the most items that the step finds. With 0, the step only remembers the letters of items for later searches.
  /// - Throws: if this step is the last and found nothing, although there is damage.
  public func step(
    _ words: Words, in collection: Int64, from next: Int64 = 0, limit: Int
  ) throws(VaultError) -> TextPage {
    _ = try database.ready()
    let home = try keys.collection(collection)
    let held = home.classes.filter { $0.metadataKey != nil }.map(\.row.id)
    if readable[collection] != held {
      database.store?.texts.forget(collection: collection)
      readable[collection] = held
    }
    let below = next > 0 ? next : Int64.max
    let page = try database.reading { store throws(VaultError) in
      words.isEmpty && limit > 0
        ? try everything(store, collection, below, min(limit, Self.pageLimit))
        : try finding(words, store, collection, below, limit)
    }
    if page.next == 0, page.items.isEmpty { _ = try database.writable() }
    return page
  }

  private func everything(
    _ store: Store, _ collection: Int64, _ below: Int64, _ limit: Int
  ) throws(VaultError) -> TextPage {
    let items = try store.items(in: collection, below: below, limit: limit)
    return TextPage(items: items, next: items.count == limit ? items.last ?? 0 : 0)
  }

  private func finding(
    _ words: Words, _ store: Store, _ collection: Int64, _ below: Int64, _ limit: Int
  ) throws(VaultError) -> TextPage {
    var page = TextPage()
    var (opened, blocks, next) = (0, 0, below)
    while opened < Self.openedLimit, blocks < Self.blockLimit, next > 1 {
      blocks += 1
      var number = TextIndex.block(of: next - 1)
      let block: TextIndex.Block
      if let known = store.texts[collection, number] {
        block = known
      } else {
        // Passes numbers of items in other collections, and of deleted items.
        guard let first = try store.items(in: collection, below: next, limit: 1).first else { return page }
        number = TextIndex.block(of: first)
        block = try letters(number, of: collection, store)
        store.texts[collection, number] = block
        opened += block.count
      }
      for entry in block where entry.item < next && limit > 0 && words.mayOccur(in: entry.letters) {
        guard page.items.count < limit, opened < Self.openedLimit + Int(TextIndex.blockSize) else {
          page.next = entry.item + 1
          return page
        }
        opened += 1
        guard let text = text(of: entry.item) else {
          page.unread += 1
          continue
        }
        if words.occur(in: text) { page.items.append(entry.item) }
      }
      next = number * TextIndex.blockSize
    }
    page.next = next > 1 ? next : 0
    return page
  }

  /// Opens the items of a block.
  private func letters(_ number: Int64, of collection: Int64, _ store: Store) throws(VaultError) -> TextIndex.Block {
    let end = (number + 1).multipliedReportingOverflow(by: TextIndex.blockSize)
    let all = try store.items(
      in: collection, below: end.overflow ? .max : end.partialValue, limit: Int(TextIndex.blockSize))
    let here = all.filter { TextIndex.block(of: $0) == number }
    return TextIndex.Block(number, here.map { ($0, text(of: $0).map(TextLetters.init) ?? .unknown) })
  }

  /// The label and the values of an item, in small letters; nil if they cannot be read now. A damaged item was noted, and keeps no
  /// other from being found.
  private func text(of id: Int64) -> [UInt8]? {
    guard let opened = try? reader.metadata(try reader.locate(id)) else { return nil }
    let metadata = opened.metadata
    var text: [UInt8] = []
    text.reserveCapacity(metadata.size + metadata.attributes.count)
    Self.fold(metadata.label, into: &text)
    for value in metadata.attributes.values {
      text.append(UInt8(ascii: "\n"))
      Self.fold(value, into: &text)
    }
    return text
  }

  private static func folded(_ word: String) -> [UInt8] {
    var text: [UInt8] = []
    fold(word, into: &text)
    return text
  }

  private static func fold(_ word: String, into text: inout [UInt8]) {
    guard word.utf8.allSatisfy({ $0 < 0x80 }) else { return text.append(contentsOf: word.lowercased().utf8) }
    for byte in word.utf8 {
      text.append((UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte)
    }
  }

  private static func contains(_ text: [UInt8], _ word: [UInt8]) -> Bool {
    guard let first = word.first, word.count <= text.count else { return word.isEmpty }
    for start in 0...(text.count - word.count) where text[start] == first {
      if text[start..<start + word.count].elementsEqual(word) { return true }
    }
    return false
  }
}
