import Glibc
import LatchkeyPosix
import LatchkeySQLite

/// Random numbers that are the same in each run.
struct Numbers: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ (state >> 29)
  }
}

/// The pages of a database file (https://sqlite.org/fileformat.html), with the changes that a program can make that knows the
/// format.
struct TreeFile {
  static let size = 4096
  private let path: String
  private var bytes: [UInt8]

  struct Failure: Error {}

  init(_ path: String) throws {
    self.path = path
    guard let bytes = readFile(path), bytes.count >= TreeFile.size else { throw Failure() }
    self.bytes = bytes
  }

  func write() { writeFile(path, bytes) }

  /// How many pages the file has.
  var pages: Int { bytes.count / TreeFile.size }

  /// The first page of a table or an index.
  func root(of name: String) throws -> Int {
    let database = try Database(path: path, mode: .unchanging)
    // The automatic index of a table without rowid is the table itself.
    let statement = try database.statement("SELECT rootpage FROM sqlite_schema WHERE name = CAST(? AS TEXT)")
    defer { statement.reset() }
    guard try statement.bind(1, Array(name.utf8)).step() else { throw Failure() }
    return Int(statement.integer(0))
  }

  private func start(_ page: Int) -> Int { (page - 1) * TreeFile.size }

  /// The position of a page's head. On the first page, the file's own head comes first.
  private func treeStart(_ page: Int) -> Int { page == 1 ? 100 : start(page) }
  private func number(_ place: Int, _ count: Int) -> Int {
    guard place + count <= bytes.count else { return 0 }
    return bytes[place..<place + count].reduce(0) { $0 << 8 | Int($1) }
  }
  private mutating func put(_ value: Int, _ count: Int, at place: Int) {
    guard place + count <= bytes.count else { return }
    for index in 0..<count { bytes[place + index] = UInt8(truncatingIfNeeded: value >> (8 * (count - 1 - index))) }
  }

  private func isInner(_ page: Int) -> Bool { [2, 5].contains(bytes[treeStart(page)]) }

  /// The position of the pointers to a page's cells.
  private func pointers(_ page: Int) -> Int { treeStart(page) + (isInner(page) ? 12 : 8) }

  /// The number of cells that a page names.
  func cells(_ page: Int) -> Int { min(number(treeStart(page) + 3, 2), TreeFile.size / 2) }

  /// The leaves of a table or an index.
  func leaves(of page: Int) -> [Int] {
    guard isInner(page) else { return [page] }
    let start = start(page)
    let below = (0..<cells(page)).map { number(start + number(pointers(page) + 2 * $0, 2), 4) }
    return (below + [number(treeStart(page) + 8, 4)]).flatMap { leaves(of: $0) }
  }

  /// Makes a page name its cells from the last one to the first one.
  mutating func reverse(_ page: Int) {
    let (place, count) = (pointers(page), cells(page))
    let old = (0..<count).map { number(place + 2 * $0, 2) }
    for (index, pointer) in old.reversed().enumerated() { put(pointer, 2, at: place + 2 * index) }
  }

  /// Makes a page name its last cell first.
  mutating func rotate(_ page: Int) {
    let (place, count) = (pointers(page), cells(page))
    let old = (0..<count).map { number(place + 2 * $0, 2) }
    for (index, pointer) in (old.suffix(1) + old.dropLast()).enumerated() { put(pointer, 2, at: place + 2 * index) }
  }

  /// Makes a page name one cell a second time, in another cell's place.
  mutating func repeatCell(_ one: Int, in place: Int, of page: Int) {
    let pointers = pointers(page)
    put(number(pointers + 2 * one, 2), 2, at: pointers + 2 * place)
  }

  /// Makes an inner page lead to another page, from a cell or after the last cell.
  mutating func lead(_ page: Int, cell: Int?, to other: Int) {
    guard isInner(page) else { return }
    let cellPlace = cell.map { start(page) + number(pointers(page) + 2 * $0, 2) }
    put(other, 4, at: cellPlace ?? treeStart(page) + 8)
  }

  /// Gives a page another number of cells.
  mutating func setCells(_ count: Int, of page: Int) { put(count, 2, at: treeStart(page) + 3) }

  /// Changes the kind of a page.
  mutating func setKind(_ kind: UInt8, of page: Int) { bytes[treeStart(page)] = kind }

  /// Writes bytes within a cell, such as a row's number or size.
  mutating func write(_ new: [UInt8], at offset: Int, ofCell cell: Int, of page: Int) {
    let place = start(page) + number(pointers(page) + 2 * cell, 2) + offset
    for (index, byte) in new.enumerated()
    where place + index < start(page) + TreeFile.size && place + index < bytes.count {
      bytes[place + index] = byte
    }
  }

  /// Writes a number of the file's head, such as the number of pages.
  mutating func setHead(_ value: Int, at place: Int) { put(value, 4, at: place) }

  /// Exchanges two pages, but never the first one.
  mutating func exchange(_ one: Int, _ other: Int) {
    guard one > 1, other > 1, one != other else { return }
    for offset in 0..<TreeFile.size { bytes.swapAt(start(one) + offset, start(other) + offset) }
  }

  /// Changes a pointer of a page: to a cell, to another page, or to the free space, or the number of cells.
  mutating func mislead(by numbers: inout Numbers) {
    let page = Int.random(in: 2...pages, using: &numbers)
    let cells = cells(page)
    switch Int.random(in: 0..<6, using: &numbers) {
    case 0 where cells > 1: reverse(page)
    case 1 where cells > 1:
      let (one, two) = (Int.random(in: 0..<cells, using: &numbers), Int.random(in: 0..<cells, using: &numbers))
      repeatCell(one, in: two, of: page)
    case 2 where isInner(page): lead(page, cell: nil, to: Int.random(in: 1...pages, using: &numbers))
    case 3: setCells(Int.random(in: 0...600, using: &numbers), of: page)
    case 4: setKind([2, 5, 10, 13].randomElement(using: &numbers) ?? 13, of: page)
    default:
      // Extreme values for a row's number or size.
      let place = start(page) + Int.random(in: 12..<TreeFile.size, using: &numbers)
      for index in place..<min(place + 9, start(page) + TreeFile.size) { bytes[index] = 0xff }
    }
  }

  /// Adds pages above a leaf. Each of them leads many times to the page below it.
  mutating func multiply(_ root: Int) {
    guard root > 1 else { return }
    let old = Array(bytes[start(root)..<start(root) + TreeFile.size])
    // An index's tree also has keys above its leaves. If they equal the leaf's keys, the leaf's rows come again and again.
    let isTable = old[0] == 13
    guard isTable || old[0] == 10 else { return }
    guard let key = isTable ? [1] : old.cell else { return }
    var below = pages + 1
    bytes += old
    for level in 0..<12 {
      let page = level == 11 ? root : pages + 1
      if page != root { bytes += [UInt8](repeating: 0, count: TreeFile.size) }
      let start = start(page)
      for index in start..<start + TreeFile.size { bytes[index] = 0 }
      bytes[start] = isTable ? 5 : 2
      var end = TreeFile.size
      var cells = 0
      while end - (4 + key.count) > 12 + 2 * (cells + 1), cells < 200 {
        end -= 4 + key.count
        put(below, 4, at: start + end)
        for (index, byte) in key.enumerated() { bytes[start + end + 4 + index] = byte }
        put(end, 2, at: start + 12 + 2 * cells)
        cells += 1
      }
      put(cells, 2, at: start + 3)
      put(end, 2, at: start + 5)
      put(below, 4, at: start + 8)
      below = page
    }
    // The file's head has the number of pages.
    setHead(pages, at: 28)
  }
}

extension [UInt8] {
  /// The first cell of an index's leaf, if it has one.
  fileprivate var cell: [UInt8]? {
    let place = Int(self[8]) << 8 | Int(self[9])
    guard self[3] | self[4] > 0, place < count, place + 1 + Int(self[place]) <= count else { return nil }
    return Array(self[place..<place + 1 + Int(self[place])])
  }
}
