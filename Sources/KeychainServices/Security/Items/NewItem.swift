package import Foundation

/// A new item.
package struct NewItem: Sendable {
  /// The item's class.
  package let itemClass: ItemClass
  /// The item's access group, which is one of the program's groups.
  package let accessGroup: String
  /// Whether the item is synchronizable.
  package let isSynchronizable: Bool
  /// The item's accessibility and requirements.
  package let protection: Protection
  /// The item's attributes.
  package let attributes: [AttributeName: AttributeValue]
  /// The secret; nil for none.
  package let secret: Data?
  /// How the person may be asked.
  package let authentication: Authentication
  /// The kinds of result that the program wants.
  package let returned: ReturnedKinds

  /// Reads the dictionary of `SecItemAdd`.
  ///
  /// A synchronizable item may have a class that is bound to this device. Apple's headers forbid this combination, but its systems
  /// accept it, and programs rely on that. Linux synchronises nothing, so only the class decides whether the item can leave the
  /// device.
  ///
  /// A match limit changes nothing, because programs store with the dictionary with which they search.
  ///
  /// - Parameters:
  ///   - dictionary: The program's dictionary.
  ///   - groups: The program's groups. They are read last, so that a mistake in the dictionary is reported even if there is no
  ///     vault.
  init(
    _ dictionary: NSDictionary, groups: @autoclosure () throws(ItemFailure) -> AccessGroups
  ) throws(ItemFailure) {
    let terms = try ItemTerms(dictionary, for: .newItem)
    guard terms.reference == nil else { throw .parameter.naming("v_PersistentRef") }
    guard terms.synchronizable != .any else { throw .parameter.naming("sync") }
    itemClass = terms.itemClass
    isSynchronizable = terms.synchronizable == .yes
    protection = try terms.protection() ?? .standard
    attributes = terms.settableAttributes
    secret = terms.secret
    authentication = terms.authentication
    returned = try terms.returned.ofPasswords()
    accessGroup = try groups().groupForNewItem(named: terms.accessGroup)
  }

  /// The attributes that no other item may have.
  package var primaryKey: PrimaryKey {
    PrimaryKey(
      itemClass: itemClass, accessGroup: accessGroup, isSynchronizable: isSynchronizable, attributes: attributes)
  }
}
