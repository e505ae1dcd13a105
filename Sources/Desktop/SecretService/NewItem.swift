import LatchkeyKeybag
import LatchkeySystemd
import LatchkeyVault

/// An item that a client wants stored.
struct NewItem {
  let received: ReceivedSecret
  let label: String
  let control: ControlAttributes
  let collection: CollectionPlace
  /// Whether it takes the place of the item with just its attributes.
  let replaces: Bool
  /// Attributes that no item of the vault may have, all of them together; nil where the call has no such rule.
  let unique: [String: String]?
  /// When it was stored and changed elsewhere.
  let times: ItemTimes
  /// The fingers that it is to remember.
  var fingers: FingerSet?
  /// The bytes that it holds while it waits: those of its secret, and those of its metadata.
  let size: Int

  init(
    received: ReceivedSecret, label: String, control: ControlAttributes, collection: CollectionPlace, replaces: Bool,
    unique: [String: String]?, times: ItemTimes = ItemTimes()
  ) {
    (self.received, self.label, self.control) = (received, label, control)
    (self.collection, self.replaces, self.unique, self.times) = (collection, replaces, unique, times)
    let metadata = ItemMetadata(label: label, attributes: control.attributes, contentType: received.contentType)
    size = received.value.bytes.count + metadata.size
  }

  /// What it asks for.
  var access: AccessControl { control.access ?? .none }

  /// What it has beside its secret.
  var metadata: ItemMetadata {
    ItemMetadata(
      label: label, attributes: control.attributes, contentType: received.contentType, flags: access.rawValue,
      fingers: fingers)
  }
}

extension SecretService {
  /// Label and attributes, as an item's properties name them, and the times of an import; nil for what is not named.
  ///
  /// - Parameter isOpen: whether other names are passed over.
  func readProperties(
    _ message: Message, isOpen: Bool
  ) throws(BusError) -> (label: String?, attributes: [String: String]?, times: ItemTimes) {
    var label: String?
    var attributes: [String: String]?
    var times = ItemTimes()
    try message.readDictionary("sv") { (entry: Message) throws(BusError) in
      switch try entry.readString() {
      case Self.itemName + ".Label":
        label = try entry.readVariant("s") { (value: Message) throws(BusError) in try value.readString() }
      case Self.itemName + ".Attributes":
        attributes = try entry.readVariant("a{ss}") { (value: Message) throws(BusError) in
          try value.readStringDictionary()
        }
      case Self.itemAccessName + ".Created" where isOpen:
        times.created = try entry.readVariant("t") { (value: Message) throws(BusError) in try value.readUInt64() }
      case Self.itemAccessName + ".Modified" where isOpen:
        times.modified = try entry.readVariant("t") { (value: Message) throws(BusError) in try value.readUInt64() }
      default:
        guard isOpen else {
          throw BusError.invalidArguments("only \(Self.itemName).Label and \(Self.itemName).Attributes can be named")
        }
        try entry.skip()
      }
    }
    return (label, attributes, times)
  }

  /// Stores the item of a call, at once or later. What must not be there already cannot be told before the whole database was
  /// looked at: a damaged index could hide it.
  func store(_ new: NewItem, _ call: MethodCall) throws(BusError) {
    // Its client has the collection unlocked first; nobody chooses a passphrase in vain.
    if new.collection == CollectionTree.firstPlace && vault.hasNoDatabaseYet { throw BusError(.notCreated) }
    // Before it waits for anything: what no vault keeps is not to be kept in memory either.
    try BusError.vault { () throws(VaultError) in try new.metadata.checkSize() }
    guard new.replaces || new.unique != nil else { return try storeVerified(new, call) }
    try whenVerified(new.size, call) { [weak self] () throws(BusError) in try self?.storeVerified(new, call) }
  }

  private func storeVerified(_ new: NewItem, _ call: MethodCall) throws(BusError) {
    try checkMayAsk(new.access, in: new.collection)
    guard new.access.conditions.contains(.biometryCurrentSet) else { return try storeOrAsk(new, call) }
    try whenFingersAreKnown(new.size, call) { [weak self] fingers throws(BusError) in
      var new = new
      new.fingers = fingers
      try self?.storeOrAsk(new, call)
    }
  }

  private func storeOrAsk(_ new: NewItem, _ call: MethodCall) throws(BusError) {
    guard new.access.needsPassphrase else {
      let item = try store(new, for: call.sender)
      return try answer(call, new, stored: item)
    }
    try checkRoom(for: new.size, of: call.sender)
    var granted: AccessGrant?
    // Before a person chooses a passphrase in vain.
    if let unique = new.unique {
      try BusError.vault { () throws(VaultError) in try vault.writer.checkIsNew(unique) }
    }
    if new.replaces, case .vault(let id) = new.collection {
      let guarded = try BusError.vault { () throws(VaultError) in
        try vault.reader.guardedItem(toReplace: new.control.attributes, in: id)
      }
      if let guarded {
        let info = try BusError.vault { () throws(VaultError) in try vault.reader.info(ofItem: guarded) }
        guard info.access == new.control.access, new.control.accessibility ?? info.accessibility == info.accessibility
        else { throw BusError(.keepsItsAccess) }
        granted = grants.take(guarded, for: call.sender)
        guard granted != nil else { throw BusError(.needsGrant) }
      }
    }
    let prompt = makePrompt(for: call.sender) { number in
      .store(WaitingItem(new, granted: granted, number: number, client: call.sender))
    }
    try answer(call, new, prompt: prompt)
  }

  /// Tells the client where its item is, or what has to be asked first.
  private func answer(
    _ call: MethodCall, _ new: NewItem, stored item: ItemPlace? = nil, prompt: Prompt? = nil
  ) throws(BusError) {
    var identifier: [UInt8] = []
    if new.unique != nil, let item {
      identifier = try BusError.vault { () throws(VaultError) in
        ItemIdentifier(item.id, uuid: try vault.reader.info(ofItem: item.id).uuid).bytes
      }
    }
    call.reply { (out: inout MessageWriter) throws(BusError) in
      try out.appendObjectPath(item?.path ?? ObjectPath.none)
      if new.unique != nil { try out.appendBytes(identifier) }
      try out.appendObjectPath(prompt?.path ?? ObjectPath.none)
    }
  }

  /// Stores an item whose passphrase, where it needs one, is there.
  func store(
    _ new: NewItem, passphrase: consuming NewItemPassphrase? = nil, granted: AccessGrant? = nil, for client: String
  ) throws(BusError) -> ItemPlace {
    let (vault, id) = tree.holder(new.collection)
    // The session collection has its keys as long as the session lasts: no class makes a difference there.
    let isKept = if case .vault = new.collection { true } else { false }
    let usual = isKept ? delegate.defaultClass(for: new.control.attributes) : .whenUnlocked
    let stored: (id: Int64, isNew: Bool)
    do throws(VaultError) {
      stored = try vault.writer.createItem(
        in: id, new.metadata, secret: new.received.value.bytes, accessibility: new.control.accessibility,
        defaultClass: usual, replacing: new.replaces, unique: new.unique ?? [:], passphrase: passphrase.take(),
        times: new.times,
        granted: { [grants] item in
          if let granted { return granted.item == item ? granted : nil }
          return isKept ? grants.take(item, for: client) : nil
        })
    } catch { throw BusError(error) }
    let item = ItemPlace(collection: new.collection, id: stored.id)
    if isKept { warnIfDeprecated(new.control.accessibility ?? usual, of: item) }
    if stored.isNew {
      contentsChanged(item, "ItemCreated")
    } else {
      itemChanged(item, properties: ["Label", "Attributes", "Modified"])
    }
    return item
  }
}
