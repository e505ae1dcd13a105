import LatchkeyKeybag
import LatchkeySystemd
import LatchkeyVault

/// The interface `org.latchkey.Item` of items: when they may be read, and what they ask for then.
extension SecretService {
  static let itemAccessName = "org.latchkey.Item"

  var itemAccessInterface: ObjectInterface {
    ObjectInterface(
      Self.itemAccessName,
      methods: [
        .init("SetAccess", input: [.init("a{sv}", "access")], output: [.init("o", "prompt")], handler: setAccess)
      ],
      properties: [
        .init("Accessible", "s", getter: itemAccessible), .init("Require", "s", getter: itemRequire),
      ])
  }

  /// The interface `org.latchkey.Service` of the service's object: what a client wants of its own prompts.
  var clientInterface: ObjectInterface {
    ObjectInterface(
      "org.latchkey.Service", methods: [.init("SetReuse", input: [.init("u", "seconds")], handler: setReuse)])
  }

  private func setReuse(_ call: MethodCall) throws(BusError) {
    let seconds = try call.message.readUInt32()
    guard seconds <= AccessGrants.longestReuse else {
      throw .invalidArguments("an item may be read again for \(AccessGrants.longestReuse) seconds at most")
    }
    watch(call.sender)
    grants.setReuse(UInt16(seconds), for: call.sender)
    call.reply()
  }

  private func accessInfo(_ path: String) throws(BusError) -> ItemInfo {
    let item = try tree.item(at: path)
    let vault = tree.holder(item.collection).vault
    return try BusError.vault { () throws(VaultError) in try vault.reader.info(ofItem: item.id) }
  }

  private func itemAccessible(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    try out.appendString(try accessInfo(path).accessibility.name)
  }

  /// Empty also while it cannot be told, as the label is.
  private func itemRequire(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    try out.appendString(try accessInfo(path).access?.text ?? "")
  }

  /// What a client wants of an item's access; what it does not name stays.
  private struct Wanted {
    var accessibility: AccessibilityClass?
    var control: AccessControl?
    var newPassphrase = false

    init(_ message: Message) throws(BusError) {
      var (accessible, require): (String?, String?) = (nil, nil)
      var newPassphrase = false
      try message.readDictionary("sv") { (entry: Message) throws(BusError) in
        switch try entry.readString() {
        case "accessible":
          accessible = try entry.readVariant("s") { (value: Message) throws(BusError) in try value.readString() }
        case "require":
          require = try entry.readVariant("s") { (value: Message) throws(BusError) in try value.readString() }
        case "new-passphrase":
          newPassphrase = try entry.readVariant("b") { (value: Message) throws(BusError) in try value.readBool() }
        default: throw .invalidArguments("only 'accessible', 'require' and 'new-passphrase' can be named")
        }
      }
      self.newPassphrase = newPassphrase
      try BusError.vault { () throws(VaultError) in
        let named = try ControlAttributes(accessible: accessible, require: require)
        (accessibility, control) = (named.accessibility, named.access)
      }
    }
  }

  private func setAccess(_ call: MethodCall) throws(BusError) {
    let item = try tree.item(at: call.path)
    let wanted = try Wanted(call.message)
    let info = try accessInfo(call.path)
    guard let present = info.access, info.readability != .locked else { throw BusError(.isLocked) }
    let control = wanted.control ?? present
    try checkMayAsk(control, in: item.collection)
    guard control.needsPassphrase || !wanted.newPassphrase else {
      throw .invalidArguments("'new-passphrase' is for items that require application-password")
    }
    guard wanted.control?.conditions.contains(.biometryCurrentSet) ?? false else {
      return try begin(wanted, from: present, to: control, of: item, fingers: nil, call)
    }
    try whenFingersAreKnown(nil, call) { [weak self] fingers throws(BusError) in
      try self?.begin(wanted, from: present, to: control, of: item, fingers: fingers, call)
    }
  }

  private func begin(
    _ wanted: Wanted, from present: AccessControl, to control: AccessControl, of item: ItemPlace, fingers: FingerSet?,
    _ call: MethodCall
  ) throws(BusError) {
    let needsNewPassphrase = control.needsPassphrase && (wanted.newPassphrase || !present.needsPassphrase)
    let change = { (number: UInt64) in
      AccessChange(
        of: item, to: control, wanted.accessibility, needsNewPassphrase: needsNewPassphrase,
        fingers: fingers, from: present, number: number, client: call.sender)
    }
    guard present.asksForAnything || needsNewPassphrase else {
      try apply(change(0), passphrase: nil)
      return call.reply { (out: inout MessageWriter) throws(BusError) in try out.appendObjectPath(ObjectPath.none) }
    }
    let prompt = makePrompt(for: call.sender) { .change(change($0)) }
    call.reply { (out: inout MessageWriter) throws(BusError) in try out.appendObjectPath(prompt.path) }
  }

  /// Refuses what no item of that collection can ask for.
  func checkMayAsk(_ control: AccessControl, in place: CollectionPlace) throws(BusError) {
    guard control.asksForAnything else { return }
    guard case .vault(let id) = place else { throw .notSupported("items of the session collection ask for nothing") }
    // Sandboxed applications read there by the portal, which asks nobody.
    guard id != portalCollection else { throw .notSupported("items of the portal's collection ask for nothing") }
  }

  /// Writes what an item asks for from now on.
  func apply(_ change: AccessChange, passphrase: consuming NewItemPassphrase?) throws(BusError) {
    let vault = tree.holder(change.item.collection).vault
    do throws(VaultError) {
      try vault.writer.setAccess(
        ofItem: change.item.id, change.control, accessibility: change.accessibility, passphrase: passphrase.take(),
        fingers: change.fingers, granted: change.granted)
    } catch { throw BusError(error) }
    change.isDone = true
    if let accessibility = change.accessibility { warnIfDeprecated(accessibility, of: change.item) }
    itemChanged(change.item, properties: ["Modified"])
  }
}
