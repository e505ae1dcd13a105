import LatchkeySystemd
import LatchkeyVault

/// The signals to clients. As with gnome-keyring, clients hear of a change before its caller gets the reply.
final class Signals {
  private let bus: Bus
  private let loop: EventLoop
  private let tree: CollectionTree
  private let grants: AccessGrants
  /// The collections whose items were added or deleted, and whose signal `CollectionChanged` is still to be sent.
  private var changedContents: [CollectionPlace: EventSource] = [:]
  /// The paths by which clients know collections.
  private var toldPaths: [CollectionPlace: String] = [:]

  init(_ bus: Bus, loop: EventLoop, tree: CollectionTree, grants: AccessGrants) {
    self.bus = bus
    self.loop = loop
    self.tree = tree
    self.grants = grants
    for place in tree.places { toldPaths[place] = tree.path(of: place) }
  }

  /// The bus is lost.
  func disconnect() { changedContents = [:] }

  private func emit(_ path: String, _ interface: String, _ member: String, _ object: String) {
    try? bus.emitSignal(
      path: path, interface: interface, member: member
    ) { $0.appendObjectPath(object) }
  }

  /// The list of all collections has changed.
  func collectionsChanged() {
    try? bus.emitPropertiesChanged(path: ObjectPath.root, interface: ServiceObject.name, names: ["Collections"])
  }

  func collectionAdded(_ place: CollectionPlace) {
    let path = tree.path(of: place)
    toldPaths[place] = path
    emit(ObjectPath.root, ServiceObject.name, "CollectionCreated", path)
    collectionsChanged()
  }

  /// Followed by ``collectionsChanged()``, after the reply.
  func collectionDeleted(_ place: CollectionPlace) {
    // The collection's name went with the collection.
    let path = toldPaths.removeValue(forKey: place) ?? tree.path(of: place)
    emit(ObjectPath.root, ServiceObject.name, "CollectionDeleted", path)
  }

  /// Tells clients of collections whose paths have changed, because labels can now be opened, or no longer. The new path comes
  /// first, because clients with a list would otherwise show no collection for a moment.
  func pathsChanged() {
    var isDifferent = false
    for place in tree.places {
      let path = tree.path(of: place)
      guard let former = toldPaths.updateValue(path, forKey: place), former != path else { continue }
      emit(ObjectPath.root, ServiceObject.name, "CollectionCreated", path)
      emit(ObjectPath.root, ServiceObject.name, "CollectionDeleted", former)
      isDifferent = true
    }
    if isDifferent { collectionsChanged() }
  }

  func collectionChanged(_ place: CollectionPlace, properties: [String] = []) {
    if !properties.isEmpty {
      try? bus.emitPropertiesChanged(
        path: tree.path(of: place), interface: CollectionObject.name, names: properties)
    }
    emit(ObjectPath.root, ServiceObject.name, "CollectionChanged", tree.path(of: place))
  }

  func itemCreated(_ item: ItemPlace) { contentsChanged(item, "ItemCreated") }

  func itemDeleted(_ item: ItemPlace) { contentsChanged(item, "ItemDeleted") }

  /// Reports that an item was added or deleted. The list of all items is never sent. Instead, a signal tells clients with a list to
  /// ask again.
  ///
  /// libsecret 0.20 adds nothing to its list at ItemCreated, but reads the collection again at CollectionChanged. Told that `Items`
  /// is invalid, it would crash at the next ItemCreated. Many changes in a row are reported once.
  private func contentsChanged(_ item: ItemPlace, _ member: String) {
    let place = item.collection
    emit(tree.path(of: place), CollectionObject.name, member, tree.path(of: item))
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
    try? bus.emitPropertiesChanged(path: tree.path(of: item), interface: ItemObject.name, names: properties)
    emit(tree.path(of: item.collection), CollectionObject.name, "ItemChanged", tree.path(of: item))
  }
}
