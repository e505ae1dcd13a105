/// The place where items are stored.
package protocol ItemStore: Sendable {
  /// The groups of this program. If the store is unavailable, this property throws.
  var accessGroups: AccessGroups { get throws(ItemFailure) }

  /// Stores an item.
  ///
  /// - Returns: The stored item. Its secret may be missing.
  /// - Throws: `errSecDuplicateItem` if an item with the same ``NewItem/primaryKey`` exists.
  func add(_ item: NewItem) throws(ItemFailure) -> StoredItem

  /// The items that match, up to the query's limit. They have their secrets if ``ItemQuery/returned`` says so.
  func items(matching query: ItemQuery) throws(ItemFailure) -> [StoredItem]

  /// Changes all items that match, or none.
  ///
  /// - Returns: The number of matches.
  /// - Throws: `errSecDuplicateItem` if two items would have the same primary key.
  func update(_ query: ItemQuery, with changes: ItemChanges) throws(ItemFailure) -> Int

  /// Deletes all items that match.
  ///
  /// - Returns: The number of matches.
  func delete(_ query: ItemQuery) throws(ItemFailure) -> Int
}
