import Foundation
package import LatchkeyItemProtection

/// The items that a call concerns.
package struct ItemQuery: Sendable {
  /// The purpose of a query. Each purpose accepts other keys.
  enum Purpose {
    case copying
    /// Updates act on all matches, so they accept no limit.
    case updating
    /// Deletions also act on all matches. They accept the limit "all", because code for a Mac passes it.
    case deleting
  }

  /// The class.
  package let itemClass: ItemClass
  /// The reference of the item, if the program gave one. Then there are no attributes, and ``isSynchronizable`` is nil.
  package let reference: ItemReference?
  /// The groups to search.
  package let accessGroups: [String]
  /// Whether to search only the synchronizable items or only the others; nil for both.
  package let isSynchronizable: Bool?
  /// The accessibility; nil for any.
  package let accessible: AccessibilityClass?
  /// The attributes that an item must have, with their values.
  package let attributes: [AttributeName: AttributeValue]
  /// The most items to return.
  package let limit: MatchLimit
  /// How the person may be asked.
  package let authentication: Authentication
  /// The kinds of result that the program wants.
  package let returned: ReturnedKinds

  /// Reads a dictionary.
  ///
  /// A secret in a query is not a search term, because programs search and delete with the dictionary with which they stored. A
  /// ``SecAccessControl`` is no search term either, as on Apple's systems.
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
