/// The most items that a search returns.
package enum MatchLimit: Hashable, Sendable {
  /// One item, not in an array.
  case one
  /// At most this number of items, in an array; 2 or more.
  case number(Int)
  /// All items, in an array.
  case all

  /// Reads the value of `kSecMatchLimit`.
  ///
  /// - Throws: `errSecParam` for other text, and for numbers below 1.
  init(term: Any) throws(ItemFailure) {
    if let text = term as? String {
      switch text {
      case "m_LimitOne": self = .one
      case "m_LimitAll": self = .all
      default: throw .parameter
      }
      return
    }
    guard let number = Int(exactly: try Int64(term: term)), number >= 1 else { throw .parameter }
    self = number == 1 ? .one : .number(number)
  }

  /// The largest number of items; nil if there is no limit.
  package var maximum: Int? {
    switch self {
    case .one: 1
    case .number(let number): number
    case .all: nil
    }
  }
}
