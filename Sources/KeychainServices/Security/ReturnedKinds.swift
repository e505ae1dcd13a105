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

  /// The kind that a key asks for; nil for a key that asks for none.
  init?(key: String) {
    switch key {
    case "r_Data": self = .data
    case "r_Attributes": self = .attributes
    case "r_Ref": self = .reference
    case "r_PersistentRef": self = .persistentReference
    default: return nil
    }
  }

  /// The keys that ask for these kinds.
  var keys: [String] {
    ["r_Data", "r_Attributes", "r_Ref", "r_PersistentRef"].filter { ReturnedKinds(key: $0).map(contains) ?? false }
  }

  /// Sees to it that a password has something of what is asked for. A reference beside something else adds nothing, but the
  /// result is a dictionary then, as of any two kinds.
  ///
  /// - Throws: `errSecUnimplemented` where a reference object alone was asked for.
  func ofPasswords() throws(ItemFailure) -> ReturnedKinds {
    guard self != .reference else { throw ItemFailure(errSecUnimplemented) }
    return self
  }
}
