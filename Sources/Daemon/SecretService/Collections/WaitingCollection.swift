/// A collection that a client wanted before there was a vault.
final class WaitingCollection {
  let label: String
  let alias: String
  /// The collection's path, once the collection is made.
  var made: CollectionPlace?

  init(label: String, alias: String) {
    self.label = label
    self.alias = alias
  }
}
