import LatchkeySQLite

/// The order of the rows that a query gives.
///
/// A tree whose pages lead to one page many times gives that page's rows again and again. So a query ends after a number of
/// repeated rows.
struct RowSequence {
  /// The kinds of values in the first column.
  enum Order {
    /// There is one row at most.
    case single
    /// Numbers in ascending order.
    case numbers
    /// Bytes, likewise.
    case bytes
  }

  /// The place of a row.
  enum Place {
    /// The row comes after all rows before it.
    case next
    /// The row belongs between two earlier rows.
    case earlier
    /// The row is one of the earlier rows.
    case repeated
  }

  private let order: Order
  private var (number, bytes): (Int64?, [UInt8]?) = (nil, nil)
  private var (numbers, texts): (Set<Int64>, Set<[UInt8]>) = ([], [])
  private var repeated = 0

  /// The number of repeated rows after which a query ends. One page has fewer rows.
  static let limit = 1000

  init(_ order: Order) { self.order = order }

  /// Whether more rows that repeat may follow.
  var mayGoOn: Bool { repeated < Self.limit }

  /// Notes the row that the statement is at, and returns its place.
  mutating func place(of statement: Statement) -> Place {
    let (isNew, isBehind): (Bool, Bool)
    switch order {
    case .single: (isNew, isBehind) = (numbers.insert(0).inserted, true)
    case .numbers:
      let next = statement.integer(0)
      (isNew, isBehind) = (numbers.insert(next).inserted, number.map { $0 < next } ?? true)
      number = next
    case .bytes:
      let next = statement.blob(0)
      (isNew, isBehind) = (texts.insert(next).inserted, bytes.map { $0.lexicographicallyPrecedes(next) } ?? true)
      bytes = next
    }
    if !isNew { repeated += 1 }
    return !isNew ? .repeated : isBehind ? .next : .earlier
  }
}
