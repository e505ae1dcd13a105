import LatchkeyKeybag
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault

/// The interface `org.freedesktop.Secret.Collection`, at every collection's path and at its aliases'.
extension SecretService {
  var collectionInterface: ObjectInterface {
    ObjectInterface(
      Self.collectionName,
      methods: [
        .init("Delete", output: [.init("o", "prompt")], handler: deleteCollection),
        .init(
          "SearchItems", input: [.init("a{ss}", "attributes")], output: [.init("ao", "results")],
          handler: searchCollection),
        .init(
          "CreateItem", input: [.init("a{sv}", "properties"), .init("(oayays)", "secret"), .init("b", "replace")],
          output: [.init("o", "item"), .init("o", "prompt")], flags: .sensitive, handler: createItem),
      ],
      properties: [
        // Not announced, see contentsChanged.
        .init("Items", "ao", getter: collectionItems),
        .init("Label", "s", flags: .emitsChange, getter: collectionLabel, setter: setCollectionLabel),
        .init("Locked", "b", flags: .emitsChange, getter: collectionLocked),
        .init("Created", "t", flags: .emitsChange, getter: collectionCreated),
        .init("Modified", "t", flags: .emitsChange, getter: collectionModified),
      ],
      signals: [
        .init("ItemCreated", [.init("o", "item")]), .init("ItemDeleted", [.init("o", "item")]),
        .init("ItemChanged", [.init("o", "item")]),
      ])
  }

  private func info(_ path: String) throws(BusError) -> CollectionInfo {
    let (vault, id) = tree.holder(try tree.collection(at: path))
    return try BusError.vault { () throws(VaultError) in try vault.info(of: id) }
  }

  private func collectionItems(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    let place = try tree.collection(at: path)
    if place == CollectionTree.firstPlace && vaultIsMissing { return try out.appendObjectPaths([]) }
    let (vault, id) = tree.holder(place)
    let items = try BusError.vault { () throws(VaultError) in try vault.reader.items(in: id) }
    try out.appendObjectPaths(items.map { place.path(item: $0) })
  }

  private func collectionLabel(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    try out.appendString(try info(path).label)
  }

  private func setCollectionLabel(_ path: String, _ value: Message) throws(BusError) {
    let place = try tree.collection(at: path)
    let (vault, id) = tree.holder(place)
    let label = try value.readString()
    try BusError.vault { () throws(VaultError) in
      try vault.checkMayChange(collection: id)
      try vault.setLabel(ofCollection: id, label)
    }
    collectionChanged(place, properties: ["Label", "Modified"])
  }

  private func collectionLocked(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    try out.appendBool(try isLocked(try tree.collection(at: path)))
  }

  private func collectionCreated(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    try out.appendUInt64(try info(path).created)
  }

  private func collectionModified(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    try out.appendUInt64(try info(path).modified)
  }

  private func deleteCollection(_ call: MethodCall) throws(BusError) {
    let place = try tree.collection(at: call.path)
    guard case .vault(let id) = place else { throw .notSupported("the session collection cannot be deleted") }
    try BusError.vault { () throws(VaultError) in
      try vault.checkMayDelete(collection: id)
      try vault.deleteCollection(id)
    }
    emit(ObjectPath.root, Self.serviceName, "CollectionDeleted", place.path)
    call.reply { (out: inout MessageWriter) throws(BusError) in try out.appendObjectPath(ObjectPath.none) }
    try? bus.emitPropertiesChanged(path: ObjectPath.root, interface: Self.serviceName, names: ["Collections"])
    promptQueue.stateChanged()
  }

  private func searchCollection(_ call: MethodCall) throws(BusError) {
    let place = try tree.collection(at: call.path)
    let attributes = try call.message.readStringDictionary()
    try search(attributes, in: place, call) { (out: inout MessageWriter, found: [Found]) throws(BusError) in
      try out.appendObjectPaths(found.map(\.path))
    }
  }

  private func createItem(_ call: MethodCall) throws(BusError) {
    let place = try tree.collection(at: call.path)
    let (label, attributes, times) = try readProperties(call.message, isOpen: true)
    let received = try receiveSecret(call)
    let control = try BusError.vault { () throws(VaultError) in try ControlAttributes(attributes ?? [:]) }
    let replaces = try call.message.readBool()
    try store(
      NewItem(
        received: received, label: label ?? "", control: control, collection: place, replaces: replaces, unique: nil,
        times: times),
      call)
  }

  /// How many items of one client, and of all, may wait for a person, and how many bytes they may have with their secrets
  /// and metadata. Each is held for as long as the person thinks, its secret in locked memory.
  private static let waitingLimit = (own: 8, all: 32, bytes: 64 << 20)

  /// Refuses an item that would have to wait where too much waits already.
  func checkRoom(for size: Int, of client: String) throws(BusError) {
    var waiting = prompts.values.filter { $0.item != nil }
    let held = fingerWaits.compactMap { wait in
      wait.size.map { (bytes: $0, owner: wait.call.sender) }
    }
    // Their number has a limit of its own.
    let written = verificationWaits.reduce(size) { $0 + $1.size }
    let own = waiting.count { $0.owner == client } + held.count { $0.owner == client }
    let bytes = {
      waiting.reduce(held.reduce(written) { $0 + $1.bytes }) { $0 + ($1.item?.new.size ?? 0) }
    }
    while waiting.count + held.count >= Self.waitingLimit.all || bytes() > Self.waitingLimit.bytes {
      // Names cost nothing: whoever has the most of what nobody was asked for yet makes room.
      let owners = Dictionary(grouping: waiting, by: \.owner)
      guard let most = owners.values.max(by: { $0.count < $1.count }), most.count > own,
        let oldest = most.filter(\.isNew).min(by: { $0.number < $1.number })
      else { break }
      end(oldest)
      waiting.removeAll { $0 === oldest }
    }
    guard own < Self.waitingLimit.own, waiting.count + held.count < Self.waitingLimit.all,
      bytes() <= Self.waitingLimit.bytes
    else { throw .limitsExceeded("too many items wait for an answer") }
  }

  /// Reads the structure Secret of a call; its session must be the caller's.
  func receiveSecret(_ call: MethodCall) throws(BusError) -> ReceivedSecret {
    try receiveSecret(call.message, of: call.sender)
  }

  /// The same at the place where a message is read.
  func receiveSecret(_ message: Message, of client: String) throws(BusError) -> ReceivedSecret {
    try message.readStruct("oayays") { [self] (fields: Message) throws(BusError) in
      let session = try session(try fields.readObjectPath(), of: client)
      return try session.read(from: fields)
    }
  }
}
