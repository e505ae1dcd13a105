package import Foundation

/// The values that an update sets. If a value is missing or nil, the items keep theirs.
package struct ItemChanges: Sendable {
  /// The group to which the items move.
  package let accessGroup: String?
  /// Whether the items become synchronizable.
  package let isSynchronizable: Bool?
  /// The new class and requirements.
  package let protection: Protection?
  /// The new attributes.
  package let attributes: [AttributeName: AttributeValue]
  /// The new secret.
  package let secret: Data?

  /// Reads the second dictionary of `SecItemUpdate`: attributes of the class and a secret. Other keys are not allowed.
  init(_ dictionary: NSDictionary, of itemClass: ItemClass) throws(ItemFailure) {
    let terms = try ItemTerms(dictionary, for: .changes(itemClass))
    guard terms.synchronizable != .any else { throw .parameter.naming("sync") }
    accessGroup = terms.accessGroup
    isSynchronizable = terms.synchronizable.map { $0 == .yes }
    protection = try terms.protection()
    attributes = terms.settableAttributes
    secret = terms.secret
  }

  /// Checks that items move only to groups of the program.
  ///
  /// - Throws: `errSecNoAccessForItem`.
  func check(against groups: AccessGroups) throws(ItemFailure) {
    guard accessGroup.map(groups.names.contains) ?? true else {
      throw ItemFailure(errSecNoAccessForItem, .undeclaredGroup)
    }
  }

  /// An item after the changes.
  package func applied(to item: StoredItem) -> StoredItem {
    StoredItem(
      reference: item.reference, accessGroup: accessGroup ?? item.accessGroup,
      isSynchronizable: isSynchronizable ?? item.isSynchronizable, protection: protection ?? item.protection,
      attributes: item.attributes.merging(attributes) { _, new in new }, secret: secret ?? item.secret)
  }
}
