import LatchkeyKeybag
import LatchkeySystemd
import LatchkeyVault

/// The interface `org.latchkey.Keychain` of the service's object: what a client needs for which one look at the vault is to be
/// enough, or all of a change, or that there is no other such item. It acts on the vault alone, not on the session collection.
extension SecretService {
  var keychainInterface: ObjectInterface {
    let result: [ObjectInterface.Argument] = [
      .init("b", "screen_locked"), .init("a(\(Self.keychainItemType))", "items"), .init("a{o(oayays)}", "secrets"),
    ]
    return ObjectInterface(
      "org.latchkey.Keychain",
      methods: [
        .init(
          "Find", input: [.init("aa{ss}", "any_of"), .init("u", "limit"), .init("o", "session")], output: result,
          flags: .sensitive, handler: findKeychainItems),
        .init(
          "Read", input: [.init("ay", "identifier"), .init("o", "session")], output: result, flags: .sensitive,
          handler: readKeychainItem),
        .init(
          "Add", input: [.init("a{sv}", "properties"), .init("(oayays)", "secret"), .init("a{ss}", "unique")],
          output: [.init("o", "item"), .init("ay", "identifier"), .init("o", "prompt")], flags: .sensitive,
          handler: addKeychainItem),
        .init(
          "Update",
          input: [.init("a(oa{sv}a{ss})", "changes"), .init("b", "has_secret"), .init("(oayays)", "secret")],
          flags: .sensitive, handler: updateKeychainItems),
        .init(
          "Delete", input: [.init("ao", "items")], output: [.init("u", "deleted")], handler: deleteKeychainItems),
      ])
  }

  /// Path, identifier, attributes, label, created, modified, class, what it asks for, state, and whether it is known.
  private static let keychainItemType = "oaya{ss}sttssyb"
  /// How many sets of attributes one search may have.
  private static let alternativeLimit = 64
  /// How many attributes all of them may have together: a lock waits for the whole search.
  private static let searchLimit = 1024
  /// How many attributes what no other item may have is told by.
  private static let uniqueLimit = 16
  /// How many items may change, or be deleted, at once.
  private static let updateLimit = 4096
  /// How many bytes of labels and attributes one answer may have.
  private static let answerLimit = 64 << 20

  /// Whether a client can have an item's secret.
  private enum State: UInt8 {
    case readable = 0
    case locked = 1
    /// It asks for something that nobody gave for this client.
    case asks = 2
  }

  /// An item, as a client is told of it.
  private struct KeychainItem {
    let id: Int64
    let collection: Int64
    let info: ItemInfo
    let state: State
    var place: ItemPlace { ItemPlace(collection: .vault(collection), id: id) }
  }

  // MARK: - finding

  private func findKeychainItems(_ call: MethodCall) throws(BusError) {
    let sets = try call.message.readArray("a{ss}") { (message: Message) throws(BusError) in
      try message.readStringDictionary()
    }
    let limit = try call.message.readUInt32()
    let session = try readSession(call)
    guard !sets.isEmpty, sets.count <= Self.alternativeLimit else {
      throw .invalidArguments("a search is for 1 to \(Self.alternativeLimit) sets of attributes")
    }
    for set in sets { try checkFindable(set) }
    guard sets.reduce(0, { $0 + $1.count }) <= Self.searchLimit else {
      throw .limitsExceeded("a search is for \(Self.searchLimit) attributes at most")
    }
    try answer(call, limit: Int(limit), session) { [vault] () throws(VaultError) -> [FoundItem] in
      if sets.count == 1 { return try vault.reader.search(.attributes(sets[0])) }
      var found: [Int64: FoundItem] = [:]
      for set in sets {
        for item in try vault.reader.search(.attributes(set)) { found[item.id] = item }
      }
      return found.values.sorted { $0.id < $1.id }
    }
  }

  private func readKeychainItem(_ call: MethodCall) throws(BusError) {
    let bytes = try call.message.withBytes { (bytes: UnsafeRawBufferPointer) throws(BusError) in Array(bytes) }
    guard let identifier = ItemIdentifier(bytes) else {
      throw .invalidArguments("an identifier has \(ItemIdentifier.size) bytes")
    }
    let session = try readSession(call)
    try answer(call, limit: 1, session) { [vault] () throws(VaultError) -> [FoundItem] in
      try vault.reader.item(identifier.item, uuid: identifier.uuid).map { [$0] } ?? []
    }
  }

  /// The session for secrets; nil where none are wanted.
  private func readSession(_ call: MethodCall) throws(BusError) -> TransportSession? {
    let path = try call.message.readObjectPath()
    return path == ObjectPath.none ? nil : try session(path, of: call.sender)
  }

  /// Refuses attributes that no item is to be told apart by.
  private func checkFindable(_ attributes: [String: String]) throws(BusError) {
    guard !attributes.isEmpty else { throw .invalidArguments("a set of attributes must not be empty") }
    guard !attributes.keys.contains(where: { $0.hasPrefix(ItemMetadata.reservedPrefix) }) else {
      throw .invalidArguments("attributes \(ItemMetadata.reservedPrefix)… are not for searches")
    }
  }

  /// Tells of what `search` finds. An empty answer waits until the whole database was looked at, as of any search.
  private func answer(
    _ call: MethodCall, limit: Int, _ session: TransportSession?,
    _ search: @escaping () throws(VaultError) -> [FoundItem]
  ) throws(BusError) {
    let found = vaultIsMissing ? [] : try BusError.vault(search)
    guard found.isEmpty, !vault.isVerified else { return try answer(call, found, limit: limit, session) }
    whenVerified { [weak self] in
      guard let self else { return }
      do throws(BusError) { try answer(call, try BusError.vault(search), limit: limit, session) } catch {
        call.fail(error)
      }
    }
  }

  private func answer(
    _ call: MethodCall, _ found: [FoundItem], limit: Int, _ session: TransportSession?
  ) throws(BusError) {
    let client = call.sender
    let items = try told(found, limit: limit, to: client)
    let isScreenLocked = delegate.isLockerUp
    call.reply(sensitive: true) { [self] (out: inout MessageWriter) throws(BusError) in
      try out.appendBool(isScreenLocked)
      try out.appendArray("(\(Self.keychainItemType))", of: items) {
        (out: inout MessageWriter, item: KeychainItem) throws(BusError) in
        try write(item, to: &out)
      }
      try out.open("a", "{o(oayays)}")
      if let session {
        for item in items where item.state == .readable { try writeSecret(of: item, session, for: client, to: &out) }
      }
      try out.close()
    }
  }

  /// The first of them, with what is known of each. One that is damaged keeps no other from being found.
  private func told(_ found: [FoundItem], limit: Int, to client: String) throws(BusError) -> [KeychainItem] {
    var items: [KeychainItem] = []
    var size = 0
    var failure: VaultError?
    for item in found {
      if limit > 0 && items.count == limit { break }
      do throws(VaultError) {
        let state: State =
          mayRead(item.id, item.readability, for: client)
          ? .readable : item.readability == .guarded ? .asks : .locked
        let info = try vault.reader.info(ofItem: item.id)
        size += info.metadata?.size ?? 0
        items.append(KeychainItem(id: item.id, collection: item.collection, info: info, state: state))
      } catch { failure = failure ?? error }
      guard size <= Self.answerLimit else { throw .limitsExceeded("what is found is too large for one answer") }
    }
    if items.isEmpty, let failure { throw BusError(failure) }
    return items
  }

  private func write(_ item: KeychainItem, to out: inout MessageWriter) throws(BusError) {
    let info = item.info
    try out.open("r", Self.keychainItemType)
    try out.appendObjectPath(item.place.path)
    try out.appendBytes(ItemIdentifier(item.id, uuid: info.uuid).bytes)
    try out.appendStringDictionary(info.metadata?.attributes ?? [:])
    try out.appendString(info.metadata?.label ?? "")
    try out.appendUInt64(info.created)
    try out.appendUInt64(info.modified)
    try out.appendString(info.accessibility.name)
    try out.appendString(info.access?.text ?? "")
    try out.appendByte(item.state.rawValue)
    try out.appendBool(info.metadata != nil)
    try out.close()
  }

  private func writeSecret(
    of item: KeychainItem, _ session: TransportSession, for client: String, to out: inout MessageWriter
  ) throws(BusError) {
    let granted = readingGrant(item.place, for: client)
    let opened: OpenedSecret? = try BusError.vault { () throws(VaultError) in
      try vault.reader.secretIfReadable(ofItem: item.id, in: item.collection, granted: granted)
    }
    guard let opened else { return }
    try out.open("e", "o(oayays)")
    try out.appendObjectPath(item.place.path)
    try session.write(opened.secret, contentType: opened.contentType, to: &out)
    try out.close()
  }

  // MARK: - writing

  private func addKeychainItem(_ call: MethodCall) throws(BusError) {
    let (label, attributes, _) = try readProperties(call.message, isOpen: false)
    let received = try receiveSecret(call)
    let unique = try call.message.readStringDictionary()
    let control = try BusError.vault { () throws(VaultError) in try ControlAttributes(attributes ?? [:]) }
    try checkUnique(unique)
    try checkHas(control.attributes, unique)
    try store(
      NewItem(
        received: received, label: label ?? "", control: control, collection: try tree.place(.alias("default")),
        replaces: false, unique: unique),
      call)
  }

  /// Refuses what is too much to tell items apart by.
  private func checkUnique(_ attributes: [String: String]) throws(BusError) {
    try checkFindable(attributes)
    guard attributes.count <= Self.uniqueLimit else {
      throw .limitsExceeded("items are told apart by \(Self.uniqueLimit) attributes at most")
    }
  }

  /// Refuses an item that would not be found by what it alone may have.
  private func checkHas(_ attributes: [String: String], _ unique: [String: String]) throws(BusError) {
    guard unique.allSatisfy({ attributes[$0.key] == $0.value }) else {
      throw .invalidArguments("what no other item may have is not among the item's attributes")
    }
  }

  /// One item's change, as a client wants it.
  private struct Change {
    let item: ItemPlace
    let update: ItemUpdate

    /// The bytes of its label and attributes.
    var size: Int {
      ItemMetadata(label: update.label ?? "", attributes: update.attributes ?? [:], contentType: "").size
    }

    /// The properties that are others afterwards.
    var properties: [String] {
      (update.label == nil ? [] : ["Label"]) + (update.attributes == nil ? [] : ["Attributes"]) + ["Modified"]
    }
  }

  private func updateKeychainItems(_ call: MethodCall) throws(BusError) {
    let changes = try call.message.readArray("(oa{sv}a{ss})") { [self] (message: Message) throws(BusError) in
      try message.readStruct("oa{sv}a{ss}") { (fields: Message) throws(BusError) in try readChange(fields) }
    }
    let hasSecret = try call.message.readBool()
    let received = hasSecret ? try receiveSecret(call) : nil
    guard !changes.isEmpty else { throw .invalidArguments("no item is named") }
    guard changes.count <= Self.updateLimit else {
      throw .limitsExceeded("\(Self.updateLimit) items may change at once")
    }
    guard Set(changes.map(\.item)).count == changes.count else {
      throw .invalidArguments("an item is named twice")
    }
    guard changes.contains(where: { !$0.update.unique.isEmpty }) else { return try write(changes, received, call) }
    // A damaged index could hide the other one.
    let size = changes.reduce(received?.value.bytes.count ?? 0) { $0 + $1.size }
    try whenVerified(size, call) { [weak self] () throws(BusError) in try self?.write(changes, received, call) }
  }

  /// Deletes items, locked or not, as `SecItemDelete` does on Apple's systems. Those that are gone already count as not deleted.
  private func deleteKeychainItems(_ call: MethodCall) throws(BusError) {
    let paths = try call.message.readObjectPaths()
    guard !paths.isEmpty else { throw .invalidArguments("no item is named") }
    guard paths.count <= Self.updateLimit else {
      throw .limitsExceeded("\(Self.updateLimit) items may be deleted at once")
    }
    var named: [Int64: ItemPlace] = [:]
    for path in paths {
      guard let item = try itemIfPresent(at: path) else { continue }
      guard case .vault = item.collection else {
        throw .notSupported("the session collection is no part of the vault")
      }
      named[item.id] = item
    }
    let deleted = try BusError.vault { () throws(VaultError) in try vault.writer.deleteItems(named.keys.sorted()) }
    for item in deleted.compactMap({ named[$0] }) { contentsChanged(item, "ItemDeleted") }
    call.reply { (out: inout MessageWriter) throws(BusError) in try out.appendUInt32(UInt32(deleted.count)) }
    // Whoever is asked for one of them would answer in vain.
    promptQueue.stateChanged()
  }

  private func itemIfPresent(at path: String) throws(BusError) -> ItemPlace? {
    do throws(BusError) { return try tree.item(at: path) } catch {
      guard error.isNoSuchObject else { throw error }
      return nil
    }
  }

  private func readChange(_ fields: Message) throws(BusError) -> Change {
    let item = try tree.item(at: try fields.readObjectPath())
    guard case .vault = item.collection else { throw .notSupported("the session collection is no part of the vault") }
    let (label, attributes, _) = try readProperties(fields, isOpen: false)
    let unique = try fields.readStringDictionary()
    if !unique.isEmpty { try checkUnique(unique) }
    var control: ControlAttributes?
    if let attributes {
      let named = try BusError.vault { () throws(VaultError) in try ControlAttributes(attributes) }
      guard named.access == nil else {
        throw .notSupported("what an item asks for is changed by \(Self.itemAccessName).SetAccess")
      }
      try checkHas(named.attributes, unique)
      control = named
    }
    return Change(
      item: item,
      update: ItemUpdate(
        item: item.id, label: label, attributes: control?.attributes, accessibility: control?.accessibility,
        unique: unique))
  }

  private func write(_ changes: [Change], _ received: ReceivedSecret?, _ call: MethodCall) throws(BusError) {
    let updates = changes.map(\.update)
    let granted = { [grants] (item: Int64) in grants.take(item, for: call.sender) }
    try BusError.vault { () throws(VaultError) in
      guard let received else { return try vault.writer.write(updates, granted: granted) }
      try vault.writer.write(
        updates, secret: received.value.bytes, contentType: received.contentType, granted: granted)
    }
    for change in changes {
      if let accessibility = change.update.accessibility { warnIfDeprecated(accessibility, of: change.item) }
      itemChanged(change.item, properties: change.properties)
    }
    call.reply()
  }
}
