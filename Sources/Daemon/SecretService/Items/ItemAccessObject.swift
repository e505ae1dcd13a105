import LatchkeyKeybag
import LatchkeySystemd
import LatchkeyVault

/// The interface `org.latchkey.Item` of items: when they may be read, and their requirements.
final class ItemAccessObject {
  static let name = "org.latchkey.Item"

  private let tree: CollectionTree
  private let waits: PendingWrites
  private let prompts: PromptTable
  private let writer: AccessWriter

  init(_ tree: CollectionTree, waits: PendingWrites, prompts: PromptTable, writer: AccessWriter) {
    self.tree = tree
    self.waits = waits
    self.prompts = prompts
    self.writer = writer
  }

  var interface: ObjectInterface {
    ObjectInterface(
      Self.name,
      methods: [
        .init("SetAccess", input: [.init("a{sv}", "access")], output: [.init("o", "prompt")], handler: setAccess)
      ],
      properties: [
        .init("Accessible", "s", getter: accessible), .init("Require", "s", getter: require),
      ])
  }

  private func accessInfo(_ path: String) throws(BusError) -> ItemInfo {
    let item = try tree.item(at: path)
    let vault = tree.holder(item.collection).vault
    return try BusError.vault { () throws(VaultError) in try vault.reader.info(ofItem: item.id) }
  }

  private func accessible(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    out.appendString(try accessInfo(path).accessibility.name)
  }

  /// Returns an empty text also while the requirements are unknown, when the label is empty, too.
  private func require(_ path: String, _ out: inout MessageWriter) throws(BusError) {
    out.appendString(try accessInfo(path).access?.text ?? "")
  }

  /// A client's change of an item's access. Settings that it does not name stay.
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
          accessible = try entry.readVariant(.text)
        case "require":
          require = try entry.readVariant(.text)
        case "new-passphrase":
          newPassphrase = try entry.readVariant(.flag)
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
    try tree.checkMayRequire(control, in: item.collection)
    guard control.needsPassphrase || !wanted.newPassphrase else {
      throw .invalidArguments("'new-passphrase' is for items that require application-password")
    }
    guard wanted.control?.conditions.contains(.biometryCurrentSet) ?? false else {
      return try begin(wanted, from: present, to: control, of: item, fingers: nil, call)
    }
    try waits.whenFingersAreKnown(nil, call) { [weak self] fingers throws(BusError) in
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
    guard present.requiresAnything || needsNewPassphrase else {
      try writer.apply(change(0), passphrase: nil)
      return call.reply { $0.appendObjectPath(ObjectPath.none) }
    }
    let prompt = prompts.make(for: call.sender) { .change(change($0)) }
    call.reply { $0.appendObjectPath(prompt.path) }
  }
}
