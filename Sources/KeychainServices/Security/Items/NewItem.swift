package import Foundation

/// An item to be stored.
package struct NewItem: Sendable {
  /// Its class.
  package let itemClass: ItemClass
  /// Its access group: one of the program's.
  package let accessGroup: String
  /// Whether it is one of the synchronizable ones.
  package let isSynchronizable: Bool
  /// Its class and requirements.
  package let protection: Protection
  /// Its attributes.
  package let attributes: [AttributeName: AttributeValue]
  /// The secret; nil for none.
  package let secret: Data?
  /// How the person may be asked.
  package let authentication: Authentication
  /// The kinds of result that the program wants.
  package let returned: ReturnedKinds

  /// Reads the dictionary of `SecItemAdd`.
  ///
  /// A synchronizable item may have a class that is bound to this device. Apple's headers forbid it, its systems take it, and
  /// programs rely on that. Here nothing is synchronised, and the class alone decides what leaves the device.
  ///
  /// A match limit changes nothing: programs store with the dictionary that they search with.
  ///
  /// - Parameters:
  ///   - dictionary: The program's dictionary.
  ///   - groups: Asked for last: a mistake is the same mistake whether or not there is a vault.
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
