/// The place where items are stored.
package protocol ItemStore: Sendable {
  /// The groups of this program. If the store is unavailable, this property throws.
  var accessGroups: AccessGroups { get throws(ItemFailure) }

  /// Stores an item.
  ///
  /// - Returns: The item as it is stored; its secret is not needed.
  /// - Throws: `errSecDuplicateItem` if one with the same ``NewItem/primaryKey`` exists.
  func add(_ item: NewItem) throws(ItemFailure) -> StoredItem

  /// The items that match, no more than the query's limit; with secrets if ``ItemQuery/returned`` says so.
  func items(matching query: ItemQuery) throws(ItemFailure) -> [StoredItem]

  /// Changes all items that match, or none.
  ///
  /// - Returns: How many matched.
  /// - Throws: `errSecDuplicateItem` if two would have the same primary key.
  func update(_ query: ItemQuery, with changes: ItemChanges) throws(ItemFailure) -> Int

  /// Deletes all items that match.
  ///
  /// - Returns: How many matched.
  func delete(_ query: ItemQuery) throws(ItemFailure) -> Int
}
