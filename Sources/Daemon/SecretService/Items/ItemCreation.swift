import LatchkeyKeybag
import LatchkeySystemd
import LatchkeyVault

/// An item that a client wants to store.
struct ItemToCreate {
  let received: ReceivedSecret
  let label: String
  let control: ControlAttributes
  let collection: CollectionPlace
  /// Whether the new item replaces an item with exactly the same attributes.
  let replaces: Bool
  /// Attributes that no item of the vault may have together; nil if the call sets no such rule.
  let unique: [String: String]?
  /// The times at which another program stored the item, and last changed it.
  let times: ItemTimes
  /// The fingers that the item must remember.
  var fingers: FingerSet?
  /// The bytes that the waiting item holds: its secret and its metadata.
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

  /// The item's requirements.
  var access: AccessControl { control.access ?? .none }

  /// Everything of the item but its secret.
  var metadata: ItemMetadata {
    ItemMetadata(
      label: label, attributes: control.attributes, contentType: received.contentType, flags: access.rawValue,
      fingers: fingers)
  }
}

/// The label and attributes from an item's properties, and the times of an import; nil for a missing property.
struct ItemProperties {
  let label: String?
  let attributes: [String: String]?
  let times: ItemTimes

  /// - Parameter isOpen: whether other names are ignored.
  init(_ message: Message, isOpen: Bool) throws(BusError) {
    var (label, attributes): (String?, [String: String]?) = (nil, nil)
    var times = ItemTimes()
    try message.readDictionary("sv") { (entry: Message) throws(BusError) in
      switch try entry.readString() {
      case ItemObject.name + ".Label":
        label = try entry.readVariant(.text)
      case ItemObject.name + ".Attributes":
        attributes = try entry.readVariant(.dictionary)
      case ItemAccessObject.name + ".Created" where isOpen:
        times.created = try entry.readVariant(.number)
      case ItemAccessObject.name + ".Modified" where isOpen:
        times.modified = try entry.readVariant(.number)
      default:
        guard isOpen else {
          throw BusError.invalidArguments(
            "only \(ItemObject.name).Label and \(ItemObject.name).Attributes can be named")
        }
        try entry.skip()
      }
    }
    self.label = label
    self.attributes = attributes
    self.times = times
  }
}

/// Stores new items, at once or when a person has chosen a passphrase.
final class ItemCreation {
  private let tree: CollectionTree
  private let grants: AccessGrants
  private let prompts: PromptTable
  private let waits: PendingWrites
  private let signals: Signals
  private let deprecations: DeprecationLog
  private unowned let delegate: any SecretServiceDelegate

  init(
    _ tree: CollectionTree, grants: AccessGrants, prompts: PromptTable, waits: PendingWrites, signals: Signals,
    deprecations: DeprecationLog, delegate: any SecretServiceDelegate
  ) {
    self.tree = tree
    self.grants = grants
    self.prompts = prompts
    self.waits = waits
    self.signals = signals
    self.deprecations = deprecations
    self.delegate = delegate
  }

  /// Stores the item of a call and replies, at once or later: after the database was verified, if the item replaces another or
  /// must be the only one, because a damaged index could hide the other item.
  func create(_ new: ItemToCreate, _ call: MethodCall) throws(BusError) {
    // The client must have the collection unlocked first, so that no person chooses a passphrase in vain.
    if new.collection == CollectionTree.firstPlace && tree.vault.hasNoDatabaseYet { throw .isLocked(tree.vault.lack) }
    // The size is checked before any wait, because an item that no vault takes must not be kept in memory either.
    try BusError.vault { () throws(VaultError) in try new.metadata.checkSize() }
    guard new.replaces || new.unique != nil else { return try createOnceFingersAreKnown(new, call) }
    try waits.whenVerified(new.size, call) { [weak self] () throws(BusError) in
      try self?.createOnceFingersAreKnown(new, call)
    }
  }

  /// Continues at once, or when the enrolled fingers are known if the item requires one of exactly these fingers.
  private func createOnceFingersAreKnown(_ new: ItemToCreate, _ call: MethodCall) throws(BusError) {
    try tree.checkMayRequire(new.access, in: new.collection)
    guard new.access.conditions.contains(.biometryCurrentSet) else { return try storeOrPrompt(new, call) }
    try waits.whenFingersAreKnown(new.size, call) { [weak self] fingers throws(BusError) in
      var new = new
      new.fingers = fingers
      try self?.storeOrPrompt(new, call)
    }
  }

  /// Stores the item, or makes the prompt in which a person chooses its passphrase.
  private func storeOrPrompt(_ new: ItemToCreate, _ call: MethodCall) throws(BusError) {
    guard new.access.needsPassphrase else {
      let item = try write(new, for: call.sender)
      return try answer(call, new, stored: item)
    }
    try waits.checkRoom(for: new.size, of: call.sender)
    var granted: AccessGrant?
    // This is checked first, so that no person chooses a passphrase in vain.
    if let unique = new.unique {
      try BusError.vault { () throws(VaultError) in try tree.vault.writer.checkIsNew(unique) }
    }
    if new.replaces, case .vault(let id) = new.collection {
      let guarded = try BusError.vault { () throws(VaultError) in
        try tree.vault.reader.guardedItem(toReplace: new.control.attributes, in: id)
      }
      if let guarded {
        let info = try BusError.vault { () throws(VaultError) in try tree.vault.reader.info(ofItem: guarded) }
        guard info.access == new.control.access, new.control.accessibility ?? info.accessibility == info.accessibility
        else { throw BusError(.keepsItsAccess) }
        granted = grants.take(guarded, for: call.sender)
        guard granted != nil else { throw BusError(.needsGrant) }
      }
    }
    let prompt = prompts.make(for: call.sender) { number in
      .store(WaitingItem(new, granted: granted, number: number, client: call.sender))
    }
    try answer(call, new, prompt: prompt)
  }

  /// Tells the client its item's path, or the prompt that has to come first.
  private func answer(
    _ call: MethodCall, _ new: ItemToCreate, stored item: ItemPlace? = nil, prompt: Prompt? = nil
  ) throws(BusError) {
    var identifier: [UInt8] = []
    if new.unique != nil, let item {
      identifier = try BusError.vault { () throws(VaultError) in
        ItemIdentifier(item.id, uuid: try tree.vault.reader.info(ofItem: item.id).uuid).bytes
      }
    }
    let path = item.map { tree.path(of: $0) } ?? ObjectPath.none
    call.reply { out in
      out.appendObjectPath(path)
      if new.unique != nil { out.appendBytes(identifier) }
      out.appendObjectPath(prompt?.path ?? ObjectPath.none)
    }
  }

  /// Writes an item, whose passphrase has been chosen if it needs one, and emits the signals.
  func write(
    _ new: ItemToCreate, passphrase: consuming NewItemPassphrase? = nil, granted: AccessGrant? = nil, for client: String
  ) throws(BusError) -> ItemPlace {
    let (vault, id) = tree.holder(new.collection)
    // The session collection has its keys as long as the session lasts, so the class makes no difference there.
    let isKept = if case .vault = new.collection { true } else { false }
    let usual = isKept ? delegate.defaultClass(for: new.control.attributes) : .whenUnlocked
    var wanted = NewItem(new.metadata, in: id, accessibility: new.control.accessibility)
    (wanted.defaultClass, wanted.replaces, wanted.unique, wanted.times) = (
      usual, new.replaces, new.unique ?? [:], new.times
    )
    wanted.passphrase = passphrase.take()
    wanted.granted = { [grants] item in
      if let granted { return granted.item == item ? granted : nil }
      return isKept ? grants.take(item, for: client) : nil
    }
    let stored: StoredItem
    do throws(VaultError) {
      stored = try vault.writer.createItem(wanted, secret: new.received.value.bytes)
    } catch { throw BusError(error) }
    let item = ItemPlace(collection: new.collection, id: stored.id)
    for twin in stored.removed { signals.itemDeleted(ItemPlace(collection: new.collection, id: twin)) }
    if isKept { deprecations.note(new.control.accessibility ?? usual, of: item) }
    if stored.isNew {
      signals.itemCreated(item)
    } else {
      signals.itemChanged(item, properties: ["Label", "Attributes", "Modified"])
    }
    return item
  }
}
