package import Foundation

/// An item of the vault.
package struct StoredItem: Hashable, Sendable {
  /// The item's permanent name, with its class.
  package let reference: ItemReference
  /// The item's access group.
  package let accessGroup: String
  /// Whether the item is synchronizable.
  package let isSynchronizable: Bool
  /// The item's accessibility and requirements.
  package let protection: Protection
  /// The item's attributes, including its dates.
  package let attributes: [AttributeName: AttributeValue]
  /// The item's secret; nil if it has none, or if the program did not request it.
  package let secret: Data?

  package init(
    reference: ItemReference, accessGroup: String, isSynchronizable: Bool, protection: Protection,
    attributes: [AttributeName: AttributeValue], secret: Data?
  ) {
    self.reference = reference
    self.accessGroup = accessGroup
    self.isSynchronizable = isSynchronizable
    self.protection = protection
    self.attributes = attributes
    self.secret = secret
  }

  /// The same item with another secret.
  package func with(secret: Data?) -> StoredItem {
    StoredItem(
      reference: reference, accessGroup: accessGroup, isSynchronizable: isSynchronizable, protection: protection,
      attributes: attributes, secret: secret)
  }

  /// The attributes that no other item may have.
  package var primaryKey: PrimaryKey {
    PrimaryKey(
      itemClass: reference.itemClass, accessGroup: accessGroup, isSynchronizable: isSynchronizable,
      attributes: attributes)
  }
}
