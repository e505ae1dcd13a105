package import Foundation

/// A permanent name of one item: a persistent reference.
///
/// As data it is the four letters of the class and then the store's identifier of the item.
package struct ItemReference: Hashable, Sendable {
  /// The item's class.
  package let itemClass: ItemClass
  /// The store's identifier of the item, of 1 to 64 bytes.
  package let identifier: Data

  package init(itemClass: ItemClass, identifier: Data) {
    self.itemClass = itemClass
    self.identifier = identifier
  }

  /// The form in which a program keeps the reference.
  package var data: Data { Data(itemClass.rawValue.utf8) + identifier }

  /// Reads the value of `kSecValuePersistentRef`.
  ///
  /// - Throws: `errSecParam` for any other value.
  init(term: Any) throws(ItemFailure) {
    guard let data = term as? Data, (5...68).contains(data.count),
      let name = String(bytes: data.prefix(4), encoding: .utf8)
    else { throw .parameter }
    // Data that starts with another class is not a reference to one of our items.
    guard let itemClass = ItemClass(rawValue: name) else { throw .parameter }
    self.init(itemClass: itemClass, identifier: Data(data.dropFirst(4)))
  }
}
