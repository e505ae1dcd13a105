import LatchkeySystemd
import LatchkeyVault

/// What clients are told without having asked. Of what a call creates, changes or deletes they are told before its caller has
/// the reply, as by gnome-keyring.
extension SecretService {
  func emit(_ path: String, _ interface: String, _ member: String, _ object: String) {
    try? bus.emitSignal(
      path: path, interface: interface, member: member
    ) { (out: inout MessageWriter) throws(BusError) in try out.appendObjectPath(object) }
  }

  func collectionAdded(_ place: CollectionPlace) {
    emit(ObjectPath.root, Self.serviceName, "CollectionCreated", place.path)
    try? bus.emitPropertiesChanged(path: ObjectPath.root, interface: Self.serviceName, names: ["Collections"])
  }

  func collectionChanged(_ place: CollectionPlace, properties: [String] = []) {
    if !properties.isEmpty {
      try? bus.emitPropertiesChanged(path: place.path, interface: Self.collectionName, names: properties)
    }
    emit(ObjectPath.root, Self.serviceName, "CollectionChanged", place.path)
  }

  /// Tells that an item came or went. The list of all items is never sent: whoever keeps one is told to ask again.
  ///
  /// libsecret 0.20 adds nothing to its list at ItemCreated, but reads the collection anew at CollectionChanged. Told
  /// that `Items` is invalid, it would crash at the next ItemCreated. Many changes in a row are told once.
  func contentsChanged(_ item: ItemPlace, _ member: String) {
    let place = item.collection
    emit(place.path, Self.collectionName, member, item.path)
    guard changedContents[place] == nil else { return }
    let timer = try? loop.addTimer(after: .milliseconds(100)) { [weak self] in
      guard let self else { return }
      changedContents[place] = nil
      guard tree.places.contains(place) else { return }
      collectionChanged(place)
    }
    changedContents[place] = timer
    if timer == nil { collectionChanged(place) }
  }

  /// Tells programs what a restore brought. Of very many items only that there are some.
  public func restored(_ changes: Restore.Changes) {
    for id in changes.collections {
      announcedLocks[.vault(id)] = try? isLocked(.vault(id))
      collectionAdded(.vault(id))
    }
    guard changes.added.count + changes.replaced.count <= Self.toldOneByOne else {
      for id in Set((changes.added + changes.replaced).map(\.collection)) { collectionChanged(.vault(id)) }
      return
    }
    for (collection, item) in changes.added {
      contentsChanged(ItemPlace(collection: .vault(collection), id: item), "ItemCreated")
    }
    for (collection, item) in changes.replaced {
      itemChanged(
        ItemPlace(collection: .vault(collection), id: item), properties: ["Label", "Attributes", "Modified"])
    }
  }

  /// The most items of a restore that programs hear of each by itself.
  private static let toldOneByOne = 256

  func itemChanged(_ item: ItemPlace, properties: [String]) {
    if case .vault = item.collection { grants.forget(item: item.id) }
    try? bus.emitPropertiesChanged(path: item.path, interface: Self.itemName, names: properties)
    emit(item.collection.path, Self.collectionName, "ItemChanged", item.path)
  }
}
