import LatchkeyPrompts
import LatchkeySystemd
import LatchkeyVault

/// `Add`, `Update` and `Delete` of `org.latchkey.Keychain`.
final class KeychainChanges {
  /// The most attributes in a set that no other item may have.
  private static let uniqueLimit = 16
  /// The most items that one call may change or delete.
  private static let updateLimit = 4096

  private let tree: CollectionTree
  private let sessions: TransportSessions
  private let grants: AccessGrants
  private let creation: ItemCreation
  private let waits: PendingWrites
  private let signals: Signals
  private let deprecations: DeprecationLog
  private let queue: PromptQueue

  init(
    _ tree: CollectionTree, sessions: TransportSessions, grants: AccessGrants, creation: ItemCreation,
    waits: PendingWrites, signals: Signals, deprecations: DeprecationLog, queue: PromptQueue
  ) {
    self.tree = tree
    self.sessions = sessions
    self.grants = grants
    self.creation = creation
    self.waits = waits
    self.signals = signals
    self.deprecations = deprecations
    self.queue = queue
  }

  func add(_ call: MethodCall) throws(BusError) {
    let named = try ItemProperties(call.message, isOpen: false)
    let received = try sessions.receiveSecret(call)
    let unique = try call.message.readStringDictionary()
    let control = try BusError.vault { () throws(VaultError) in try ControlAttributes(named.attributes ?? [:]) }
    try checkUnique(unique)
    try checkHas(control.attributes, unique)
    try creation.create(
      ItemToCreate(
        received: received, label: named.label ?? "", control: control, collection: try tree.place(.alias("default")),
        replaces: false, unique: unique),
      call)
  }

  /// Refuses a set that is too large to distinguish items by.
  private func checkUnique(_ attributes: [String: String]) throws(BusError) {
    try KeychainObject.checkFindable(attributes)
    guard attributes.count <= Self.uniqueLimit else {
      throw .limitsExceeded("at most \(Self.uniqueLimit) attributes can tell items apart")
    }
  }

  /// Refuses an item that lacks the attributes which only this item may have.
  private func checkHas(_ attributes: [String: String], _ unique: [String: String]) throws(BusError) {
    guard unique.allSatisfy({ attributes[$0.key] == $0.value }) else {
      throw .invalidArguments("the item lacks an attribute that no other item may have")
    }
  }

  /// One item's change, as a client wants it.
  private struct Change {
    let item: ItemPlace
    let update: ItemUpdate

    /// The bytes of the item's label and attributes.
    var size: Int {
      ItemMetadata(label: update.label ?? "", attributes: update.attributes ?? [:], contentType: "").size
    }

    /// The properties that change.
    var properties: [String] {
      (update.label == nil ? [] : ["Label"]) + (update.attributes == nil ? [] : ["Attributes"]) + ["Modified"]
    }
  }

  func update(_ call: MethodCall) throws(BusError) {
    let changes = try call.message.readArray("(oa{sv}a{ss})") { [self] (message: Message) throws(BusError) in
      try message.readStruct("oa{sv}a{ss}") { (fields: Message) throws(BusError) in try readChange(fields) }
    }
    let hasSecret = try call.message.readBool()
    let received = hasSecret ? try sessions.receiveSecret(call) : nil
    guard !changes.isEmpty else { throw .invalidArguments("no item is named") }
    guard changes.count <= Self.updateLimit else {
      throw .limitsExceeded("\(Self.updateLimit) items can change at once")
    }
    guard Set(changes.map(\.item)).count == changes.count else {
      throw .invalidArguments("an item is named twice")
    }
    guard changes.contains(where: { !$0.update.unique.isEmpty }) else { return try write(changes, received, call) }
    // A damaged index could hide the other item.
    let size = changes.reduce(received?.value.bytes.count ?? 0) { $0 + $1.size }
    try waits.whenVerified(size, call) { [weak self] () throws(BusError) in try self?.write(changes, received, call) }
  }

  /// Deletes items, locked or not, as `SecItemDelete` does on Apple's systems. An item that does not exist any more counts as not
  /// deleted.
  func delete(_ call: MethodCall) throws(BusError) {
    let items = try call.message.readArray("(oay)") { (message: Message) throws(BusError) in
      try message.readStruct("oay") { (fields: Message) throws(BusError) in
        (path: try fields.readObjectPath(), identifier: try ItemIdentifier.read(fields))
      }
    }
    guard !items.isEmpty else { throw .invalidArguments("no item is named") }
    guard items.count <= Self.updateLimit else {
      throw .limitsExceeded("\(Self.updateLimit) items can be deleted at once")
    }
    var named: [Int64: (place: ItemPlace, uuid: [UInt8])] = [:]
    for item in items {
      guard let place = try itemIfPresent(at: item.path) else { continue }
      guard case .vault = place.collection else {
        throw .notSupported("the session collection is not part of the vault")
      }
      // An item of another vault may have had this number.
      guard place.id == item.identifier.item else { continue }
      named[place.id] = (place, item.identifier.uuid)
    }
    let wanted = named.sorted { $0.key < $1.key }.map { (id: $0.key, uuid: Optional($0.value.uuid)) }
    let deleted = try BusError.vault { () throws(VaultError) in try tree.vault.writer.deleteItems(wanted) }
    for item in deleted.compactMap({ named[$0]?.place }) { signals.itemDeleted(item) }
    call.reply { $0.appendUInt32(UInt32(deleted.count)) }
    // A prompt for one of these items would be in vain now.
    queue.stateChanged()
  }

  private func itemIfPresent(at path: String) throws(BusError) -> ItemPlace? {
    do throws(BusError) { return try tree.item(at: path) } catch {
      guard error.isNoSuchObject else { throw error }
      return nil
    }
  }

  private func readChange(_ fields: Message) throws(BusError) -> Change {
    let item = try tree.item(at: try fields.readObjectPath())
    guard case .vault = item.collection else { throw .notSupported("the session collection is not part of the vault") }
    let properties = try ItemProperties(fields, isOpen: false)
    let unique = try fields.readStringDictionary()
    if !unique.isEmpty { try checkUnique(unique) }
    var control: ControlAttributes?
    if let attributes = properties.attributes {
      let named = try BusError.vault { () throws(VaultError) in try ControlAttributes(attributes) }
      guard named.access == nil else {
        throw .notSupported(.onlySetAccess(of: ItemAccessObject.name))
      }
      try checkHas(named.attributes, unique)
      control = named
    }
    return Change(
      item: item,
      update: ItemUpdate(
        item: item.id, label: properties.label, attributes: control?.attributes, accessibility: control?.accessibility,
        unique: unique))
  }

  private func write(_ changes: [Change], _ received: ReceivedSecret?, _ call: MethodCall) throws(BusError) {
    let updates = changes.map(\.update)
    let granted = { [grants] (item: Int64) in grants.take(item, for: call.sender) }
    try BusError.vault { () throws(VaultError) in
      guard let received else { return try tree.vault.writer.write(updates, granted: granted) }
      try tree.vault.writer.write(
        updates, secret: received.value.bytes, contentType: received.contentType, granted: granted)
    }
    for change in changes {
      if let accessibility = change.update.accessibility { deprecations.note(accessibility, of: change.item) }
      signals.itemChanged(change.item, properties: change.properties)
    }
    call.reply()
  }
}
