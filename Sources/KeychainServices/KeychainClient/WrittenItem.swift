import Foundation
import LatchkeyItemProtection
import LatchkeySecurity

/// An item's label and attributes in the form in which the vault keeps them.
struct WrittenItem: Equatable {
  /// The label that people see.
  let label: String
  /// The attributes.
  let attributes: [String: String]

  /// The name of the attribute that tells the vault an item's class.
  static let accessibleName = "latchkey:accessible"
  /// The name of the attribute that tells the vault an item's requirements.
  static let requireName = "latchkey:require"

  /// An item that `SecItemAdd` stores.
  init(_ item: NewItem) {
    self.init(attributes: item.attributes, primaryKey: item.primaryKey)
  }

  /// An item after its changes.
  ///
  /// - Parameter former: the item before the changes. Attributes that have no name of Apple's stay. If `SecItemAdd` did not store
  ///   the item, it gets none of the attributes that mark items of `SecItemAdd`.
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

  /// Whether an item already has this label and these attributes. This compares byte by byte, because Swift treats two spellings of
  /// an accent as equal.
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

  /// The label for a value of `kSecAttrLabel`, and our own form of it if a label cannot express the value.
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

  /// The mark of an item whose program gave no label.
  static let noLabel = "none"

  /// Makes a label for an item whose program gave none.
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
