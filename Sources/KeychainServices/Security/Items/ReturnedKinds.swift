/// The kinds of result of a call.
package struct ReturnedKinds: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The secret.
  package static let data = ReturnedKinds(rawValue: 1)
  /// The attributes.
  package static let attributes = ReturnedKinds(rawValue: 2)
  /// A reference object, which passwords do not have.
  package static let reference = ReturnedKinds(rawValue: 4)
  /// A persistent reference.
  package static let persistentReference = ReturnedKinds(rawValue: 8)

  /// The kind that a key requests; nil for a key that requests none.
  init?(key: String) {
    switch key {
    case "r_Data": self = .data
    case "r_Attributes": self = .attributes
    case "r_Ref": self = .reference
    case "r_PersistentRef": self = .persistentReference
    default: return nil
    }
  }

  /// The keys that request these kinds.
  var keys: [String] {
    ["r_Data", "r_Attributes", "r_Ref", "r_PersistentRef"].filter { ReturnedKinds(key: $0).map(contains) ?? false }
  }

  /// Checks that a password has at least one requested kind. If a reference object is requested with another kind, it adds nothing.
  /// But the result is then a dictionary, as for any two kinds.
  ///
  /// - Throws: `errSecUnimplemented` if only a reference object was requested.
  func ofPasswords() throws(ItemFailure) -> ReturnedKinds {
    guard self != .reference else { throw ItemFailure(errSecUnimplemented) }
    return self
  }
}
