import LatchkeySystemd
import LatchkeyVault

/// The interface `org.latchkey.Keychain` of the service's object: calls that need one consistent look at the vault, a whole
/// change, or a unique item. It acts on the vault alone, not on the session collection.
final class KeychainObject {
  private let search: KeychainSearch
  private let changes: KeychainChanges

  init(search: KeychainSearch, changes: KeychainChanges) {
    self.search = search
    self.changes = changes
  }

  var interface: ObjectInterface {
    let result: [ObjectInterface.Argument] = [
      .init("b", "screen_locked"), .init("a(\(KeychainSearch.itemType))", "items"), .init("a{o(oayays)}", "secrets"),
    ]
    return ObjectInterface(
      "org.latchkey.Keychain",
      methods: [
        .init(
          "Find", input: [.init("aa{ss}", "any_of"), .init("u", "limit"), .init("o", "session")], output: result,
          flags: .sensitive, handler: search.find),
        .init(
          "Read", input: [.init("ay", "identifier"), .init("o", "session")], output: result, flags: .sensitive,
          handler: search.read),
        .init(
          "Add", input: [.init("a{sv}", "properties"), .init("(oayays)", "secret"), .init("a{ss}", "unique")],
          output: [.init("o", "item"), .init("ay", "identifier"), .init("o", "prompt")], flags: .sensitive,
          handler: changes.add),
        .init(
          "Update",
          input: [.init("a(oa{sv}a{ss})", "changes"), .init("b", "has_secret"), .init("(oayays)", "secret")],
          flags: .sensitive, handler: changes.update),
        .init("Delete", input: [.init("a(oay)", "items")], output: [.init("u", "deleted")], handler: changes.delete),
      ])
  }

  /// Refuses attributes that must not distinguish items.
  static func checkFindable(_ attributes: [String: String]) throws(BusError) {
    guard !attributes.isEmpty else { throw .invalidArguments("a set of attributes must not be empty") }
    guard !attributes.keys.contains(where: { $0.hasPrefix(ItemMetadata.reservedPrefix) }) else {
      throw .invalidArguments("attributes \(ItemMetadata.reservedPrefix)… cannot be used in searches")
    }
  }
}
