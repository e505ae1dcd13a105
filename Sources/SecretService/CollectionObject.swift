import Keybag
import Sodium
import Systemd
import Vault

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
    let (vault, id) = holder(try collection(at: path))
    return try BusError.vault { () throws(VaultError) in try vault.info(of: id) }
  }

  private func collectionItems(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    let place = try collection(at: path)
    let (vault, id) = holder(place)
    let items = try BusError.vault { () throws(VaultError) in try vault.items(in: id) }
    try out.appendObjectPaths(items.map { place.path(item: $0) })
  }

  private func collectionLabel(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    try out.appendString(try info(path).label)
  }

  private func setCollectionLabel(_ path: String, _ value: Message) throws(BusError) {
    let place = try collection(at: path)
    let (vault, id) = holder(place)
    let label = try value.readString()
    try BusError.vault { () throws(VaultError) in try vault.setLabel(ofCollection: id, label) }
    collectionChanged(place, properties: ["Label", "Modified"])
  }

  private func collectionLocked(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    try out.appendBool(try isLocked(try collection(at: path)))
  }

  private func collectionCreated(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    try out.appendUInt64(try info(path).created)
  }

  private func collectionModified(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    try out.appendUInt64(try info(path).modified)
  }

  private func deleteCollection(_ call: MethodCall) throws(BusError) {
    let place = try collection(at: call.path)
    guard case .vault(let id) = place else { throw .notSupported("the session collection cannot be deleted") }
    try BusError.vault { () throws(VaultError) in try vault.deleteCollection(id) }
    call.reply { (out: inout MessageWriter) throws(BusError) in try out.appendObjectPath(ObjectPath.none) }
    emit(ObjectPath.root, Self.serviceName, "CollectionDeleted", place.path)
    try? bus.emitPropertiesChanged(path: ObjectPath.root, interface: Self.serviceName, names: ["Collections"])
    promptQueue.stateChanged()
  }

  private func searchCollection(_ call: MethodCall) throws(BusError) {
    let place = try collection(at: call.path)
    let attributes = try call.message.readStringDictionary()
    try search(attributes, in: place, call) { (out: inout MessageWriter, found: [Found]) throws(BusError) in
      try out.appendObjectPaths(found.map(\.path))
    }
  }

  private func createItem(_ call: MethodCall) throws(BusError) {
    let place = try collection(at: call.path)
    var label = ""
    var attributes: [String: String] = [:]
    try call.message.readDictionary("sv") { (entry: Message) throws(BusError) in
      switch try entry.readString() {
      case Self.itemName + ".Label":
        label = try entry.readVariant("s") { (value: Message) throws(BusError) in try value.readString() }
      case Self.itemName + ".Attributes":
        attributes = try entry.readVariant("a{ss}") { (value: Message) throws(BusError) in
          try value.readStringDictionary()
        }
      default: try entry.skip()
      }
    }
    let received = try receiveSecret(call)
    let replace = try call.message.readBool()
    if !vault.isVerified && replace {
      // A damaged index could hide the item that is to be replaced.
      return whenVerified { [weak self] in
        guard let self else { return }
        do throws(BusError) {
          try store(received, label, attributes, in: place, replacing: replace, call)
        } catch { call.fail(error) }
      }
    }
    try store(received, label, attributes, in: place, replacing: replace, call)
  }

  private func store(
    _ received: ReceivedSecret, _ label: String, _ attributes: [String: String], in place: CollectionPlace,
    replacing: Bool, _ call: MethodCall
  ) throws(BusError) {
    let control = try BusError.vault { () throws(VaultError) in try ControlAttributes(attributes) }
    let access = control.access ?? .none
    try checkMayAsk(access, in: place)
    guard access.conditions.contains(.biometryCurrentSet) else {
      return try store(received, label, control, fingers: nil, in: place, replacing: replacing, call)
    }
    try whenFingersAreKnown(received, call) { [weak self] fingers throws(BusError) in
      try self?.store(received, label, control, fingers: fingers, in: place, replacing: replacing, call)
    }
  }

  private func store(
    _ received: ReceivedSecret, _ label: String, _ control: ControlAttributes, fingers: FingerSet?,
    in place: CollectionPlace, replacing: Bool, _ call: MethodCall
  ) throws(BusError) {
    if control.access?.needsPassphrase ?? false {
      try checkRoom(for: received, of: call.sender)
      var granted: AccessGrant?
      if replacing, case .vault(let id) = place {
        let guarded = try BusError.vault { () throws(VaultError) in
          try vault.guardedItem(toReplace: control.attributes, in: id)
        }
        // Before a person chooses a passphrase in vain.
        if let guarded {
          let info = try BusError.vault { () throws(VaultError) in try vault.info(ofItem: guarded) }
          guard info.access == control.access, control.accessibility ?? info.accessibility == info.accessibility else {
            throw BusError(.keepsItsAccess)
          }
          granted = grants.take(guarded, for: call.sender)
          guard granted != nil else { throw BusError(.needsGrant) }
        }
      }
      let prompt = makePrompt(for: call.sender) { number in
        .store(
          WaitingItem(
            received, label: label, control: control, fingers: fingers, in: place, replacing: replacing,
            granted: granted, number: number, client: call.sender))
      }
      return call.reply { (out: inout MessageWriter) throws(BusError) in
        try out.appendObjectPath(ObjectPath.none)
        try out.appendObjectPath(prompt.path)
      }
    }
    let item = try store(
      received, label, control, fingers: fingers, in: place, replacing: replacing, for: call.sender)
    call.reply { (out: inout MessageWriter) throws(BusError) in
      try out.appendObjectPath(item.path)
      try out.appendObjectPath(ObjectPath.none)
    }
  }

  /// How many items of one client, and of all, may wait for a person, and how many bytes their secrets may have. Each is
  /// held in locked memory for as long as the person thinks.
  private static let waitingLimit = (own: 8, all: 32, bytes: 64 << 20)

  func checkRoom(for received: ReceivedSecret, of client: String) throws(BusError) {
    var waiting = prompts.values.filter { $0.item != nil }
    let held = fingerWaits.compactMap { wait in
      wait.received.map { (bytes: $0.value.bytes.count, owner: wait.call.sender) }
    }
    let own = waiting.count { $0.owner == client } + held.count { $0.owner == client }
    let bytes = {
      waiting.reduce(held.reduce(received.value.bytes.count) { $0 + $1.bytes }) {
        $0 + ($1.item?.received.value.bytes.count ?? 0)
      }
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

  /// Stores an item whose passphrase, where it needs one, is there.
  func store(
    _ received: ReceivedSecret, _ label: String, _ control: ControlAttributes, fingers: FingerSet?,
    in place: CollectionPlace, replacing: Bool, passphrase: consuming NewItemPassphrase? = nil,
    granted: AccessGrant? = nil, for client: String
  ) throws(BusError) -> ItemPlace {
    let (vault, id) = holder(place)
    // The session collection has its keys as long as the session lasts: no class makes a difference there.
    let isKept = if case .vault = place { true } else { false }
    let access = control.access ?? .none
    let usual = isKept ? defaultClass(control.attributes) : .whenUnlocked
    let stored: (id: Int64, isNew: Bool)
    do throws(VaultError) {
      stored = try vault.createItem(
        in: id,
        ItemMetadata(
          label: label, attributes: control.attributes, contentType: received.contentType, flags: access.rawValue,
          fingers: fingers),
        secret: received.value.bytes, accessibility: control.accessibility, defaultClass: usual, replacing: replacing,
        passphrase: passphrase.take(),
        granted: { [grants] item in
          if let granted { return granted.item == item ? granted : nil }
          return isKept ? grants.take(item, for: client) : nil
        })
    } catch { throw BusError(error) }
    let item = ItemPlace(collection: place, id: stored.id)
    if isKept { warnIfDeprecated(control.accessibility ?? usual, of: item) }
    if stored.isNew {
      contentsChanged(item, "ItemCreated")
    } else {
      itemChanged(item, properties: ["Label", "Attributes", "Modified"])
    }
    return item
  }

  /// Reads the structure Secret of a call; its session must be the caller's.
  func receiveSecret(_ call: MethodCall) throws(BusError) -> ReceivedSecret {
    try call.message.readStruct("oayays") { [self] (fields: Message) throws(BusError) in
      let session = try session(try fields.readObjectPath(), of: call.sender)
      return try session.read(from: fields)
    }
  }
}
