import Foundation
package import LatchkeyItemProtection

/// Which items a call is about.
package struct ItemQuery: Sendable {
  /// The purpose of a query: calls accept different keys.
  enum Purpose {
    case copying
    /// Updates act on all that match: they take no limit.
    case updating
    /// Deletions also act on all matches. They accept the limit that means all, because code for a Mac passes it.
    case deleting
  }

  /// The class.
  package let itemClass: ItemClass
  /// The one item, if the program named it by reference. Then there are no attributes, and ``isSynchronizable`` is nil.
  package let reference: ItemReference?
  /// The groups to look in.
  package let accessGroups: [String]
  /// Whether to look among the synchronizable items, or the others; nil for both.
  package let isSynchronizable: Bool?
  /// The accessibility; nil for any.
  package let accessible: AccessibilityClass?
  /// Attributes that an item must have, with these values.
  package let attributes: [AttributeName: AttributeValue]
  /// How many items.
  package let limit: MatchLimit
  /// How the person may be asked.
  package let authentication: Authentication
  /// The kinds of result that the program wants.
  package let returned: ReturnedKinds

  /// Reads a dictionary.
  ///
  /// A secret in a query is not a search term: programs search and delete with the dictionary that they store with. Neither is a
  /// ``SecAccessControl``, as on Apple's systems.
  init(
    _ dictionary: NSDictionary, for purpose: Purpose, groups: @autoclosure () throws(ItemFailure) -> AccessGroups
  ) throws(ItemFailure) {
    let terms = try ItemTerms(dictionary, for: .search)
    switch purpose {
    case .copying: break
    case .updating:
      guard terms.limit == nil else { throw .parameter.naming("m_Limit") }
      guard terms.returned.isEmpty else { throw ItemFailure(errSecParam, .contradiction(terms.returned.keys)) }
    case .deleting:
      guard terms.limit == nil || terms.limit == .all else { throw .parameter.naming("m_Limit") }
    }
    if terms.reference != nil {
      var others = terms.attributes.keys.map(\.rawValue).sorted()
      if terms.accessible != nil { others.append("pdmn") }
      if terms.accessGroup != nil { others.append("agrp") }
      if let synchronizable = terms.synchronizable, synchronizable != .any { others.append("sync") }
      guard others.isEmpty else { throw ItemFailure(errSecParam, .contradiction(["v_PersistentRef"] + others)) }
    }
    itemClass = terms.itemClass
    reference = terms.reference
    switch terms.synchronizable {
    case .any: isSynchronizable = nil
    case .yes: isSynchronizable = true
    case .no: isSynchronizable = false
    case nil: isSynchronizable = terms.reference == nil ? false : nil
    }
    accessible = terms.accessible
    attributes = terms.attributes
    limit = terms.limit ?? .one
    authentication = terms.authentication
    returned = purpose == .deleting ? [] : try terms.returned.ofPasswords()
    accessGroups = try groups().groupsForSearch(named: terms.accessGroup)
  }

  /// Whether an item matches.
  package func matches(_ item: StoredItem) -> Bool {
    guard item.reference.itemClass == itemClass, accessGroups.contains(item.accessGroup) else { return false }
    if let reference { return item.reference == reference }
    guard isSynchronizable == nil || isSynchronizable == item.isSynchronizable else { return false }
    guard accessible == nil || accessible == item.protection.accessible else { return false }
    return attributes.allSatisfy { name, value in
      (item.attributes[name] ?? name.absentValue)?.compared == value.compared
    }
  }
}
