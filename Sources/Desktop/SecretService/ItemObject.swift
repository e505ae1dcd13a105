import LatchkeyKeybag
import LatchkeySystemd
import LatchkeyVault

/// The interface `org.freedesktop.Secret.Item`. Every property answers while the item is locked: one error would make
/// libsecret drop the whole of a search.
extension SecretService {
  var itemInterface: ObjectInterface {
    ObjectInterface(
      Self.itemName,
      methods: [
        // With a capital, as in the specification; the collection's is without.
        .init("Delete", output: [.init("o", "Prompt")], handler: deleteItem),
        .init(
          "GetSecret", input: [.init("o", "session")], output: [.init("(oayays)", "secret")], flags: .sensitive,
          handler: getSecret),
        .init("SetSecret", input: [.init("(oayays)", "secret")], flags: .sensitive, handler: setSecret),
      ],
      properties: [
        // Announced to those who have read it: see KnownItems.
        .init("Locked", "b", flags: .emitsChange, getter: itemLocked),
        .init("Attributes", "a{ss}", flags: .emitsChange, getter: itemAttributes, setter: setItemAttributes),
        .init("Label", "s", flags: .emitsChange, getter: itemLabel, setter: setItemLabel),
        .init("Created", "t", flags: .emitsChange, getter: itemCreated),
        .init("Modified", "t", flags: .emitsChange, getter: itemModified),
      ])
  }

  private func info(_ path: String) throws(BusError) -> ItemInfo {
    let item = try tree.item(at: path)
    let vault = tree.holder(item.collection).vault
    return try BusError.vault { () throws(VaultError) in try vault.reader.info(ofItem: item.id) }
  }

  private func itemLocked(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    let item = try tree.item(at: path)
    let vault = tree.holder(item.collection).vault
    let info = try BusError.vault { () throws(VaultError) in try vault.reader.info(ofItem: item.id) }
    // Of what asks for something, each client sees what was given for it: libsecret reads what is not locked only.
    guard let client = out.recipient else { return try out.appendBool(info.readability != .open) }
    let isLocked = !mayRead(item.id, info.readability, for: client)
    note(info, of: item, isLocked: isLocked, by: client)
    try out.appendBool(isLocked)
  }

  private func itemAttributes(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    try out.appendStringDictionary(try info(path).metadata?.attributes ?? [:])
  }

  private func itemLabel(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    try out.appendString(try info(path).metadata?.label ?? "")
  }

  private func itemCreated(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    try out.appendUInt64(try info(path).created)
  }

  private func itemModified(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    try out.appendUInt64(try info(path).modified)
  }

  private func setItemAttributes(_ path: String, _ value: Message) throws(BusError) {
    let item = try tree.item(at: path)
    let vault = tree.holder(item.collection).vault
    let attributes = try value.readStringDictionary()
    guard attributes["latchkey:require"] == nil else {
      throw .notSupported("what an item asks for is changed by \(Self.itemAccessName).SetAccess")
    }
    let granted = grant(item, for: value.sender)
    let named = try BusError.vault { () throws(VaultError) in
      let control = try ControlAttributes(attributes)
      try vault.writer.update(item: item.id, accessibility: control.accessibility, granted: granted) {
        $0.attributes = control.attributes
      }
      return control.accessibility
    }
    if let named { warnIfDeprecated(named, of: item) }
    itemChanged(item, properties: ["Attributes", "Modified"])
  }

  private func setItemLabel(_ path: String, _ value: Message) throws(BusError) {
    let item = try tree.item(at: path)
    let vault = tree.holder(item.collection).vault
    let label = try value.readString()
    let granted = grant(item, for: value.sender)
    try BusError.vault { () throws(VaultError) in
      try vault.writer.update(item: item.id, granted: granted) { $0.label = label }
    }
    itemChanged(item, properties: ["Label", "Modified"])
  }

  /// Uses up what a person answered for this client; nil where nobody did, and in the session's collection, where no item
  /// asks for anything.
  func grant(_ item: ItemPlace, for client: String?) -> AccessGrant? {
    guard case .vault = item.collection, let client else { return nil }
    return grants.take(item.id, for: client)
  }

  /// The same for a read, which leaves a grant that its client may use again.
  func readingGrant(_ item: ItemPlace, for client: String) -> AccessGrant? {
    guard case .vault = item.collection else { return nil }
    return grants.read(item.id, for: client)
  }

  private func deleteItem(_ call: MethodCall) throws(BusError) {
    let item = try tree.item(at: call.path)
    let vault = tree.holder(item.collection).vault
    try BusError.vault { () throws(VaultError) in
      try vault.writer.checkMayChange(item: item.id)
      try vault.writer.deleteItem(item.id)
    }
    contentsChanged(item, "ItemDeleted")
    call.reply { (out: inout MessageWriter) throws(BusError) in try out.appendObjectPath(ObjectPath.none) }
    // Whoever is asked for it would answer in vain.
    promptQueue.stateChanged()
  }

  private func getSecret(_ call: MethodCall) throws(BusError) {
    let item = try tree.item(at: call.path)
    let session = try session(try call.message.readObjectPath(), of: call.sender)
    let client = call.sender
    call.reply(sensitive: true) { [self] (out: inout MessageWriter) throws(BusError) in
      try write(item, session, for: client, to: &out)
    }
  }

  private func setSecret(_ call: MethodCall) throws(BusError) {
    let item = try tree.item(at: call.path)
    let vault = tree.holder(item.collection).vault
    let received = try receiveSecret(call)
    let granted = grant(item, for: call.sender)
    try BusError.vault { () throws(VaultError) in
      try vault.writer.setSecret(
        ofItem: item.id, received.value.bytes, contentType: received.contentType, granted: granted)
    }
    itemChanged(item, properties: ["Modified"])
    call.reply()
  }
}
