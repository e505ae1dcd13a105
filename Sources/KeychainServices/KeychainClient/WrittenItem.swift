import Foundation
import LatchkeyItemProtection
import LatchkeySecurity

/// An item's label and attributes as the vault keeps them.
struct WrittenItem: Equatable {
  /// The label that people see.
  let label: String
  /// The attributes.
  let attributes: [String: String]

  /// The name under which the vault is told the class.
  static let accessibleName = "latchkey:accessible"
  /// The name under which the vault is told an item's requirements.
  static let requireName = "latchkey:require"

  /// An item that `SecItemAdd` stores.
  init(_ item: NewItem) {
    self.init(attributes: item.attributes, primaryKey: item.primaryKey)
  }

  /// An item with its changes.
  ///
  /// - Parameter former: its former state. Attributes without an Apple name stay. An item that `SecItemAdd` did not store
  ///   gets none of the attributes that mark its own items.
  init(_ item: StoredItem, former: VaultItem) {
    let own = WrittenItem(attributes: item.attributes, primaryKey: item.primaryKey)
    let itemClass = item.reference.itemClass
    let known = Set(itemClass.worldNames.values)
    var attributes = former.attributes.filter { !known.contains($0.key) && !OwnName.isOne($0.key) }
    if former.isOwn {
      attributes.merge(own.attributes) { _, new in new }
      self.init(label: own.label, attributes: attributes)
      return
    }
    let marks = [OwnName.itemClass, OwnName.accessGroup, OwnName.synchronizable, OwnName.key, OwnName.schema]
    let labelName = OwnName.of(.label)
    attributes.merge(own.attributes.filter { !marks.contains($0.key) && $0.key != labelName }) { _, new in new }
    guard item.attributes[.label] != nil else {
      self.init(label: former.label, attributes: attributes)
      return
    }
    attributes[labelName] = own.attributes[labelName]
    self.init(label: own.label, attributes: attributes)
  }

  /// Whether an item is in this state already. Compared byte by byte, because Swift treats two spellings of an accent as one
  /// text.
  func isSame(as item: VaultItem) -> Bool {
    func same(_ one: String, _ other: String?) -> Bool { other.map { one.utf8.elementsEqual($0.utf8) } ?? false }
    return same(label, item.label) && attributes.count == item.attributes.count
      && attributes.allSatisfy { same($0.value, item.attributes[$0.key]) }
  }

  private init(label: String, attributes: [String: String]) {
    self.label = label
    self.attributes = attributes
  }

  private init(attributes values: [AttributeName: AttributeValue], primaryKey key: PrimaryKey) {
    let worldNames = key.itemClass.worldNames
    var attributes = [
      OwnName.itemClass: key.itemClass.rawValue, OwnName.accessGroup: key.accessGroup,
      OwnName.synchronizable: key.isSynchronizable ? "1" : "0", OwnName.key: key.hash,
      OwnName.schema: key.itemClass.schema,
    ]
    for (name, value) in values where name != .label {
      let written = WrittenValue(value, of: name, hasWorldName: worldNames[name] != nil)
      if let worldName = worldNames[name] { attributes[worldName] = written.world }
      attributes[OwnName.of(name)] = written.own
    }
    let made = WrittenItem.label(of: key.itemClass, attributes)
    (label, attributes[OwnName.of(.label)]) = WrittenItem.label(for: values[.label], otherwise: made)
    self.attributes = attributes
  }

  /// The label for a value of `kSecAttrLabel`, and the rest that a label cannot express.
  private static func label(for value: AttributeValue?, otherwise made: String) -> (String, own: String?) {
    switch value {
    case nil: return (made, noLabel)
    case .text(let text) where text.canTravel: return (text, nil)
    case .data(let data):
      if let text = String(validating: data, as: UTF8.self), text.canTravel { return (text, "data") }
    case .text, .number, .date: break
    }
    return (made, value.flatMap(WrittenValue.inFull))
  }

  /// The label of an item whose program gave none.
  static let noLabel = "none"

  /// A label for an item without one.
  static func label(of itemClass: ItemClass, _ attributes: [String: String]) -> String {
    let names = itemClass.worldNames
    func value(_ name: AttributeName) -> String? { names[name].flatMap { attributes[$0] } }
    let parts =
      switch itemClass {
      case .genericPassword: [value(.service), value(.account)]
      case .internetPassword: [value(.account), value(.server)]
      }
    let text = parts.compactMap { $0 }.joined(separator: itemClass == .genericPassword ? "/" : "@")
    return text.isEmpty ? "Password" : text
  }
}
