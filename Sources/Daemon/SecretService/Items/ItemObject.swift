import LatchkeyPrompts
import LatchkeySystemd
import LatchkeyVault

/// The interface `org.freedesktop.Secret.Item`. Every property answers while the item is locked: one error would make
/// libsecret drop the whole of a search.
final class ItemObject {
  static let name = "org.freedesktop.Secret.Item"

  private let tree: CollectionTree
  private let locks: LockStates
  private let grants: AccessGrants
  private let sessions: TransportSessions
  private let announcer: StateAnnouncer
  private let signals: Signals
  private let deprecations: DeprecationLog
  private let queue: PromptQueue

  init(
    _ tree: CollectionTree, locks: LockStates, grants: AccessGrants, sessions: TransportSessions,
    announcer: StateAnnouncer, signals: Signals, deprecations: DeprecationLog, queue: PromptQueue
  ) {
    self.tree = tree
    self.locks = locks
    self.grants = grants
    self.sessions = sessions
    self.announcer = announcer
    self.signals = signals
    self.deprecations = deprecations
    self.queue = queue
  }

  var interface: ObjectInterface {
    ObjectInterface(
      Self.name,
      methods: [
        // The name has a capital letter, as in the specification; the collection's method has none.
        .init("Delete", output: [.init("o", "Prompt")], handler: delete),
        .init(
          "GetSecret", input: [.init("o", "session")], output: [.init("(oayays)", "secret")], flags: .sensitive,
          handler: getSecret),
        .init("SetSecret", input: [.init("(oayays)", "secret")], flags: .sensitive, handler: setSecret),
      ],
      properties: [
        // StateAnnouncer announces this property to the clients that have read it.
        .init("Locked", "b", flags: .emitsChange, getter: locked),
        .init("Attributes", "a{ss}", flags: .emitsChange, getter: attributes, setter: setAttributes),
        .init("Label", "s", flags: .emitsChange, getter: label, setter: setLabel),
        .init("Created", "t", flags: .emitsChange, getter: created),
        .init("Modified", "t", flags: .emitsChange, getter: modified),
      ])
  }

  private func info(_ path: String) throws(BusError) -> ItemInfo {
    let item = try tree.item(at: path)
    let vault = tree.holder(item.collection).vault
    return try BusError.vault { () throws(VaultError) in try vault.reader.info(ofItem: item.id) }
  }

  private func locked(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    let item = try tree.item(at: path)
    let vault = tree.holder(item.collection).vault
    let info = try BusError.vault { () throws(VaultError) in try vault.reader.info(ofItem: item.id) }
    // An item that requires something appears unlocked only to a client with a grant for the item, because libsecret reads no
    // locked items.
    guard let client = out.recipient else { return out.appendBool(info.readability != .open) }
    let isLocked = !locks.mayRead(item.id, info.readability, for: client)
    announcer.note(info, of: item, isLocked: isLocked, by: client)
    out.appendBool(isLocked)
  }

  private func attributes(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    out.appendStringDictionary(try info(path).metadata?.attributes ?? [:])
  }

  private func label(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    out.appendString(try info(path).metadata?.label ?? "")
  }

  private func created(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    out.appendUInt64(try info(path).created)
  }

  private func modified(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    out.appendUInt64(try info(path).modified)
  }

  private func setAttributes(_ path: String, _ value: Message) throws(BusError) {
    let item = try tree.item(at: path)
    let vault = tree.holder(item.collection).vault
    let attributes = try value.readStringDictionary()
    guard attributes["latchkey:require"] == nil else {
      throw .notSupported(.onlySetAccess(of: ItemAccessObject.name))
    }
    let granted = grants.take(item, for: value.sender)
    let named = try BusError.vault { () throws(VaultError) in
      let control = try ControlAttributes(attributes)
      try vault.writer.update(item: item.id, accessibility: control.accessibility, granted: granted) {
        $0.attributes = control.attributes
      }
      return control.accessibility
    }
    if let named { deprecations.note(named, of: item) }
    signals.itemChanged(item, properties: ["Attributes", "Modified"])
  }

  private func setLabel(_ path: String, _ value: Message) throws(BusError) {
    let item = try tree.item(at: path)
    let vault = tree.holder(item.collection).vault
    let label = try value.readString()
    let granted = grants.take(item, for: value.sender)
    try BusError.vault { () throws(VaultError) in
      try vault.writer.update(item: item.id, granted: granted) { $0.label = label }
    }
    signals.itemChanged(item, properties: ["Label", "Modified"])
  }

  private func delete(_ call: MethodCall) throws(BusError) {
    let item = try tree.item(at: call.path)
    let vault = tree.holder(item.collection).vault
    try BusError.vault { () throws(VaultError) in
      try vault.writer.checkMayChange(item: item.id)
      try vault.writer.deleteItem(item.id)
    }
    signals.itemDeleted(item)
    call.reply { $0.appendObjectPath(ObjectPath.none) }
    // A prompt for this item would be in vain now.
    queue.stateChanged()
  }

  private func getSecret(_ call: MethodCall) throws(BusError) {
    let item = try tree.item(at: call.path)
    let session = try sessions.session(try call.message.readObjectPath(), of: call.sender)
    let client = call.sender
    call.reply(sensitive: true) { [self] out throws(BusError) in
      try write(item, session, for: client, to: &out)
    }
  }

  /// Writes an item's secret for a session.
  private func write(
    _ item: ItemPlace, _ session: TransportSession, for client: String, to out: inout MessageWriter
  ) throws(BusError) {
    let vault = tree.holder(item.collection).vault
    let granted = grants.read(item, for: client)
    let opened: OpenedSecret
    do throws(VaultError) { opened = try vault.reader.secret(ofItem: item.id, granted: granted) } catch {
      if error == .needsGrant, let problem = grants.fingerProblems[item.id] {
        throw .isLocked(.noFingerOpensIt(problem))
      }
      throw BusError(error)
    }
    try session.write(opened.secret, contentType: opened.contentType, to: &out)
  }

  private func setSecret(_ call: MethodCall) throws(BusError) {
    let item = try tree.item(at: call.path)
    let vault = tree.holder(item.collection).vault
    let received = try sessions.receiveSecret(call)
    let granted = grants.take(item, for: call.sender)
    try BusError.vault { () throws(VaultError) in
      try vault.writer.setSecret(
        ofItem: item.id, received.value.bytes, contentType: received.contentType, granted: granted)
    }
    signals.itemChanged(item, properties: ["Modified"])
    call.reply()
  }
}
