package import Foundation

/// The values that an update sets. A missing or nil value stays as it is.
package struct ItemChanges: Sendable {
  /// The group that the items move to.
  package let accessGroup: String?
  /// Whether they become synchronizable.
  package let isSynchronizable: Bool?
  /// Their class and requirements.
  package let protection: Protection?
  /// Their attributes.
  package let attributes: [AttributeName: AttributeValue]
  /// Their secret.
  package let secret: Data?

  /// Reads the second dictionary of `SecItemUpdate`: attributes of the class and a secret, and nothing else.
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

  /// An item with the changes.
  package func applied(to item: StoredItem) -> StoredItem {
    StoredItem(
      reference: item.reference, accessGroup: accessGroup ?? item.accessGroup,
      isSynchronizable: isSynchronizable ?? item.isSynchronizable, protection: protection ?? item.protection,
      attributes: item.attributes.merging(attributes) { _, new in new }, secret: secret ?? item.secret)
  }
}
