import LatchkeyPrompts
import LatchkeySystemd
import LatchkeyVault

/// The interface `org.freedesktop.Secret.Collection`, at the path of every collection, and at the paths of its aliases.
final class CollectionObject {
  static let name = "org.freedesktop.Secret.Collection"

  private let tree: CollectionTree
  private let locks: LockStates
  private let itemSearch: ItemSearch
  private let wordSearch: CollectionSearch
  private let sessions: TransportSessions
  private let creation: ItemCreation
  private let signals: Signals
  private let queue: PromptQueue

  init(
    _ tree: CollectionTree, locks: LockStates, search: ItemSearch, words: CollectionSearch, sessions: TransportSessions,
    creation: ItemCreation, signals: Signals, queue: PromptQueue
  ) {
    self.tree = tree
    self.locks = locks
    itemSearch = search
    wordSearch = words
    self.sessions = sessions
    self.creation = creation
    self.signals = signals
    self.queue = queue
  }

  var interface: ObjectInterface {
    ObjectInterface(
      Self.name,
      methods: [
        .init("Delete", output: [.init("o", "prompt")], handler: delete),
        .init(
          "SearchItems", input: [.init("a{ss}", "attributes")], output: [.init("ao", "results")],
          handler: search),
        .init(
          "CreateItem", input: [.init("a{sv}", "properties"), .init("(oayays)", "secret"), .init("b", "replace")],
          output: [.init("o", "item"), .init("o", "prompt")], flags: .sensitive, handler: createItem),
      ],
      properties: [
        // Not announced, see Signals.
        .init("Items", "ao", getter: items),
        .init("Label", "s", flags: .emitsChange, getter: label, setter: setLabel),
        .init("Locked", "b", flags: .emitsChange, getter: locked),
        .init("Created", "t", flags: .emitsChange, getter: created),
        .init("Modified", "t", flags: .emitsChange, getter: modified),
      ],
      signals: [
        .init("ItemCreated", [.init("o", "item")]), .init("ItemDeleted", [.init("o", "item")]),
        .init("ItemChanged", [.init("o", "item")]),
      ])
  }

  /// The interface `org.latchkey.Collection`, for functions that the specification lacks.
  var ownInterface: ObjectInterface {
    ObjectInterface(
      "org.latchkey.Collection", methods: [wordSearch.method],
      properties: [.init("Number", "t", flags: .constant, getter: number)])
  }

  private func number(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    guard case .vault(let id) = try tree.collection(at: path) else { return out.appendUInt64(0) }
    out.appendUInt64(UInt64(clamping: id))
  }

  private func info(_ path: String) throws(BusError) -> CollectionInfo {
    let (vault, id) = tree.holder(try tree.collection(at: path))
    return try BusError.vault { () throws(VaultError) in try vault.collections.info(of: id) }
  }

  private func items(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    let place = try tree.collection(at: path)
    if place == CollectionTree.firstPlace && locks.isVaultMissing { return out.appendObjectPaths([]) }
    let (vault, id) = tree.holder(place)
    let items = try BusError.vault { () throws(VaultError) in try vault.reader.items(in: id) }
    let home = tree.path(of: place)
    out.appendObjectPaths(items.map { "\(home)/\($0)" })
  }

  private func label(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    out.appendString(try info(path).label)
  }

  private func setLabel(_ path: String, _ value: Message) throws(BusError) {
    let place = try tree.collection(at: path)
    let (vault, id) = tree.holder(place)
    let label = try value.readString()
    try BusError.vault { () throws(VaultError) in
      try vault.collections.checkMayChange(id)
      try vault.collections.setLabel(of: id, label)
    }
    signals.collectionChanged(place, properties: ["Label", "Modified"])
  }

  private func locked(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    out.appendBool(try locks.isLocked(try tree.collection(at: path)))
  }

  private func created(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    out.appendUInt64(try info(path).created)
  }

  private func modified(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    out.appendUInt64(try info(path).modified)
  }

  private func delete(_ call: MethodCall) throws(BusError) {
    let place = try tree.collection(at: call.path)
    guard case .vault(let id) = place else { throw .notSupported(.service(.sessionCollectionStays)) }
    try BusError.vault { () throws(VaultError) in
      try tree.vault.collections.checkMayDelete(id)
      try tree.vault.collections.delete(id)
    }
    signals.collectionDeleted(place)
    call.reply { $0.appendObjectPath(ObjectPath.none) }
    signals.collectionsChanged()
    queue.stateChanged()
  }

  private func search(_ call: MethodCall) throws(BusError) {
    let place = try tree.collection(at: call.path)
    let attributes = try call.message.readStringDictionary()
    try itemSearch.search(attributes, in: place, call) { $0.appendObjectPaths($1.map(\.path)) }
  }

  private func createItem(_ call: MethodCall) throws(BusError) {
    let place = try tree.collection(at: call.path)
    let named = try ItemProperties(call.message, isOpen: true)
    let received = try sessions.receiveSecret(call)
    let control = try BusError.vault { () throws(VaultError) in try ControlAttributes(named.attributes ?? [:]) }
    let replaces = try call.message.readBool()
    try creation.create(
      ItemToCreate(
        received: received, label: named.label ?? "", control: control, collection: place, replaces: replaces,
        unique: nil, times: named.times),
      call)
  }
}
