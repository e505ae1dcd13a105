/// The letters in text that a search looks through, 256 bits for one item: the bytes that occur, and the pairs of neighbours.
///
/// Only bits of many texts are kept, and never the texts: an item without a word's bits need not be opened.
struct TextLetters: Equatable {
  private var bits: SIMD4<UInt64>

  /// The letters of a text that cannot be read now: it may have any word.
  static let unknown = TextLetters(bits: SIMD4(repeating: .max))

  private init(bits: SIMD4<UInt64>) { self.bits = bits }

  /// The letters of a text in small letters.
  init(_ text: [UInt8]) {
    bits = .zero
    var last: UInt8?
    for byte in text {
      // The first 32 bits stand for single bytes, and the other bits for pairs.
      set(Int(byte & 31))
      if let last {
        let pair = UInt32(last) << 8 | UInt32(byte)
        set(32 + Int(((pair &* 0x9E37_79B1) >> 12) % 224))
      }
      last = byte
    }
  }

  private mutating func set(_ number: Int) { bits[number >> 6] |= 1 << UInt64(number & 63) }

  /// Whether the text may have all letters of `word`.
  func mayHave(_ word: TextLetters) -> Bool { bits & word.bits == word.bits }
}

/// The letters of items that searches have opened, in blocks of items with neighbouring numbers. It belongs to one open database,
/// and forgets a block when one of its items is written.
struct TextIndex {
  /// The count of item numbers in a block.
  static let blockSize: Int64 = 256

  /// The existing items of a block, from the highest number down. Both arrays take 33 bytes an item. One array of pairs would
  /// take 64, because the letters' bits are aligned.
  struct Block: RandomAccessCollection {
    private let start: Int64
    private let numbers: [UInt8]
    private let letters: [TextLetters]

    init(_ number: Int64, _ entries: [(item: Int64, letters: TextLetters)]) {
      start = number * TextIndex.blockSize
      let start = start
      numbers = entries.map { UInt8(truncatingIfNeeded: $0.item - start) }
      letters = entries.map(\.letters)
    }

    var startIndex: Int { 0 }
    var endIndex: Int { numbers.count }
    subscript(position: Int) -> (item: Int64, letters: TextLetters) {
      (start + Int64(numbers[position]), letters[position])
    }
  }

  private var collections: [Int64: [Int64: Block]] = [:]

  /// The block of an item.
  static func block(of item: Int64) -> Int64 { item / blockSize }

  /// A block; nil if no search has opened its items yet.
  subscript(collection: Int64, block: Int64) -> Block? {
    get { collections[collection]?[block] }
    set { collections[collection, default: [:]][block] = newValue }
  }

  /// Forgets the block of an item that was written or deleted.
  mutating func forget(item: Int64) {
    for collection in collections.keys { collections[collection]?[Self.block(of: item)] = nil }
  }

  /// Forgets the items of a collection. Its keys were taken over or erased, so other items can be opened now.
  mutating func forget(collection: Int64) { collections[collection] = nil }

  /// Forgets everything.
  mutating func removeAll() { collections = [:] }
}
