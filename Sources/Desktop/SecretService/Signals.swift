import LatchkeySystemd
import LatchkeyVault

/// The signals to clients. As with gnome-keyring, clients hear of a change before its caller gets the reply.
final class Signals {
  private let bus: Bus
  private let loop: EventLoop
  private let tree: CollectionTree
  private let grants: AccessGrants
  /// Collections whose `CollectionChanged` for items that came or went is still to be sent.
  private var changedContents: [CollectionPlace: EventSource] = [:]

  init(_ bus: Bus, loop: EventLoop, tree: CollectionTree, grants: AccessGrants) {
    self.bus = bus
    self.loop = loop
    self.tree = tree
    self.grants = grants
  }

  /// The bus is lost.
  func disconnect() { changedContents = [:] }

  private func emit(_ path: String, _ interface: String, _ member: String, _ object: String) {
    try? bus.emitSignal(
      path: path, interface: interface, member: member
    ) { $0.appendObjectPath(object) }
  }

  /// The list of all collections is another.
  func collectionsChanged() {
    try? bus.emitPropertiesChanged(path: ObjectPath.root, interface: ServiceObject.name, names: ["Collections"])
  }

  func collectionAdded(_ place: CollectionPlace) {
    emit(ObjectPath.root, ServiceObject.name, "CollectionCreated", place.path)
    collectionsChanged()
  }

  /// Followed by ``collectionsChanged()``, after the reply.
  func collectionDeleted(_ place: CollectionPlace) {
    emit(ObjectPath.root, ServiceObject.name, "CollectionDeleted", place.path)
  }

  func collectionChanged(_ place: CollectionPlace, properties: [String] = []) {
    if !properties.isEmpty {
      try? bus.emitPropertiesChanged(path: place.path, interface: CollectionObject.name, names: properties)
    }
    emit(ObjectPath.root, ServiceObject.name, "CollectionChanged", place.path)
  }

  func itemCreated(_ item: ItemPlace) { contentsChanged(item, "ItemCreated") }

  func itemDeleted(_ item: ItemPlace) { contentsChanged(item, "ItemDeleted") }

  /// Tells that an item came or went. The list of all items is never sent: clients that keep one are told to ask again.
  ///
  /// libsecret 0.20 adds nothing to its list at ItemCreated, but reads the collection anew at CollectionChanged. Told
  /// that `Items` is invalid, it would crash at the next ItemCreated. Many changes in a row are told once.
  private func contentsChanged(_ item: ItemPlace, _ member: String) {
    let place = item.collection
    emit(place.path, CollectionObject.name, member, item.path)
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

  /// Signals that an item was written. Grants for its former state end.
  func itemChanged(_ item: ItemPlace, properties: [String]) {
    if case .vault = item.collection { grants.forget(item: item.id) }
    try? bus.emitPropertiesChanged(path: item.path, interface: ItemObject.name, names: properties)
    emit(item.collection.path, CollectionObject.name, "ItemChanged", item.path)
  }
}
