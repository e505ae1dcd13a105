package import Foundation

/// An item of the vault.
package struct StoredItem: Hashable, Sendable {
  /// Its permanent name, with its class.
  package let reference: ItemReference
  /// Its access group.
  package let accessGroup: String
  /// Whether it is one of the synchronizable ones.
  package let isSynchronizable: Bool
  /// Its class and requirements.
  package let protection: Protection
  /// Its attributes, dates among them.
  package let attributes: [AttributeName: AttributeValue]
  /// Its secret; nil if it has none, or none was requested.
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
