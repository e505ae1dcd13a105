/// No vault: every call that is well formed is `errSecNotAvailable`.
struct MissingStore: ItemStore {
  private static let failure = ItemFailure(errSecNotAvailable)

  var accessGroups: AccessGroups { get throws(ItemFailure) { throw MissingStore.failure } }

  func add(_ item: NewItem) throws(ItemFailure) -> StoredItem { throw MissingStore.failure }

  func items(matching query: ItemQuery) throws(ItemFailure) -> [StoredItem] { throw MissingStore.failure }

  func update(_ query: ItemQuery, with changes: ItemChanges) throws(ItemFailure) -> Int { throw MissingStore.failure }

  func delete(_ query: ItemQuery) throws(ItemFailure) -> Int { throw MissingStore.failure }
}
