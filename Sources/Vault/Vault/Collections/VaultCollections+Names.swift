import LatchkeyBackup

/// The names of collections in object paths (``CollectionName``).
extension VaultCollections {
  /// The last part of the collection's object path: made from its label if the label can be opened, otherwise from its number.
  public func pathName(of id: Int64) -> String {
    keys.collections.first { $0.row.id == id }?.name ?? CollectionName.ofNumber(id)
  }

  /// Whether labels can be opened, so that collections have names that are made of their labels.
  public var knowsNames: Bool { keys.index != nil }

  /// The collection with this name; nil if there is none. After damage, a missing collection is an error, because its label may be
  /// the damaged part.
  public func named(_ name: String) throws(VaultError) -> Int64? {
    _ = try database.ready()
    _ = try keys.readyIndex()
    let found = keys.collections.first { $0.name == name }?.row.id
    if found == nil { _ = try database.writable() }
    return found
  }

  /// The names that a new collection cannot have.
  var takenNames: Set<String> { Set(keys.collections.compactMap(\.name)) }

  /// The name for a new collection.
  ///
  /// - Parameter former: the collection's name in a generation or a backup. The collection keeps that name if it is free.
  func newName(_ label: String, former: String? = nil, besides taken: Set<String>) -> String {
    if let former, CollectionName.isFree(former, besides: taken) { return former }
    return CollectionName.derived(from: label, besides: taken)
  }

  /// Names the collections that have no name yet, if labels can be opened. Stored names come first, and then the oldest collection.
  /// So the names are the same each time, until ``keepNames()`` has stored them.
  func nameAll() {
    guard let index = keys.index else { return }
    var taken = takenNames
    var nameless: [(collection: OpenCollection, title: CollectionTitle)] = []
    for collection in keys.collections where collection.name == nil && collection.row.id != Vault.firstCollection {
      // A collection with a damaged label keeps its number.
      guard let title = try? title(of: collection.row, index: index) else { continue }
      if let name = title.name, CollectionName.isFree(name, besides: taken) {
        collection.name = name
        taken.insert(name)
      } else {
        nameless.append((collection, title))
      }
    }
    for (collection, title) in nameless {
      let name = newName(title.label, besides: taken)
      collection.name = name
      taken.insert(name)
    }
  }

  /// Stores names, sealed together with the labels, for collections that earlier versions made without a name.
  func keepNames() throws(VaultError) {
    let index = try keys.readyIndex()
    var changed: [(collection: OpenCollection, row: CollectionRow)] = []
    for collection in keys.collections {
      guard let name = collection.name, let title = try? title(of: collection.row, index: index), title.name != name
      else { continue }
      var row = collection.row
      row.label = try seal(CollectionTitle(label: title.label, name: name), uuid: row.uuid, index: index)
      changed.append((collection, row))
    }
    guard !changed.isEmpty else { return }
    try database.writing { store throws(VaultError) in for (_, row) in changed { try store.update(row) } }
    for (collection, row) in changed { collection.row = row }
  }
}
