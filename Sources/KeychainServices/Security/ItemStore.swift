/// Where items are.
package protocol ItemStore: Sendable {
  /// The groups of this program. An unavailable store throws here already.
  var accessGroups: AccessGroups { get throws(ItemFailure) }

  /// Stores an item.
  ///
  /// - Returns: The item as it is stored; its secret is not needed.
  /// - Throws: `errSecDuplicateItem` where one with the same ``NewItem/primaryKey`` is there.
  func add(_ item: NewItem) throws(ItemFailure) -> StoredItem

  /// The items that match, no more than the query's limit; with secrets where ``ItemQuery/returned`` says so.
  func items(matching query: ItemQuery) throws(ItemFailure) -> [StoredItem]

  /// Changes all items that match, or none.
  ///
  /// - Returns: How many matched.
  /// - Throws: `errSecDuplicateItem` where two would have the same primary key.
  func update(_ query: ItemQuery, with changes: ItemChanges) throws(ItemFailure) -> Int

  /// Deletes all items that match.
  ///
  /// - Returns: How many matched.
  func delete(_ query: ItemQuery) throws(ItemFailure) -> Int
}
