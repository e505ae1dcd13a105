package import Foundation

/// The value of an attribute, in the type in which it was given and is returned.
package enum AttributeValue: Hashable, Sendable {
  case text(String)
  case data(Data)
  case number(Int64)
  case date(Date)

  /// Reads a value that a program gave.
  ///
  /// - Throws: `errSecParam` for a type that the attribute does not accept, and for `NSNull`, which is nil in a dictionary. A
  ///   program that wants no value must leave the key out. A program that forgot to unwrap an optional gets the error.
  init(_ value: Any, of name: AttributeName) throws(ItemFailure) {
    switch name.kind {
    case .date:
      guard let date = value as? Date else { throw .parameter }
      self = .date(date)
    case .any:
      if let text = value as? String {
        self = .text(text)
      } else if let data = value as? Data {
        self = .data(data)
      } else {
        self = .number(try Int64(term: value))
      }
    case .number:
      guard let text = value as? String else {
        self = .number(try Int64(term: value))
        return
      }
      self = Int32(text).flatMap { String($0) == text ? .number(Int64($0)) : nil } ?? .text(text)
    }
  }

  /// The form in which values are compared. Text becomes UTF-8 data, so that a search finds an account as text and as data.
  package var compared: AttributeValue {
    guard case .text(let text) = self else { return self }
    return .data(Data(text.utf8))
  }

  /// The value as an object, for a result.
  var object: Any {
    switch self {
    case .text(let text): text
    case .data(let data): data
    case .number(let number): NSNumber(value: number)
    case .date(let date): date
    }
  }
}

extension Int64 {
  /// Reads a whole number, or yes and no.
  ///
  /// - Throws: `errSecParam` for any other value.
  init(term: Any) throws(ItemFailure) {
    // An item has only whole numbers. A number outside the range would silently change, so it is refused.
    guard let number = term as? NSNumber, NSNumber(value: number.int64Value) == number else { throw .parameter }
    self = number.int64Value
  }
}

extension Bool {
  /// Reads yes or no. On Linux they are the same as 1 and 0.
  ///
  /// - Throws: `errSecParam` for any other value.
  init(term: Any) throws(ItemFailure) {
    switch try Int64(term: term) {
    case 0: self = false
    case 1: self = true
    default: throw .parameter
    }
  }
}
