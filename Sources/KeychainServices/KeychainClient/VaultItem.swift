import Foundation
import LatchkeyItemProtection
import LatchkeySecurity

/// An item as the vault describes it.
struct VaultItem: Equatable {
  /// The access that this connection had to an item when the vault described it.
  enum State: UInt8 {
    /// The item's secret can be read.
    case open = 0
    /// The item is locked.
    case locked = 1
    /// The item has a requirement that nobody has met yet.
    case asking = 2
  }

  /// The item's object path.
  let path: String
  /// The size of an identifier, in bytes.
  static let identifierSize = 24

  /// The item's permanent name.
  let identifier: Data
  let attributes: [String: String]
  let label: String
  /// The moment of the item's creation, in seconds since 1970.
  let created: UInt64
  let modified: UInt64
  /// The name of the item's class.
  let accessible: String
  /// The item's requirements, as text.
  let require: String
  let state: State
  /// Whether the vault could read label, attributes and requirements. If not, they are empty.
  let isKnown: Bool

  /// Whether `SecItemAdd` stored it.
  var isOwn: Bool { attributes[OwnName.itemClass] != nil }

  /// The item's requirements; nil if this version does not know them.
  var control: AccessControl? { try? AccessControl(text: require) }

  /// The item's class in Apple's sense; nil if it has none.
  var itemClass: ItemClass? {
    if let name = attributes[OwnName.itemClass] { return ItemClass(rawValue: name) }
    if attributes["server"] != nil { return .internetPassword }
    return attributes["service"] == nil ? nil : .genericPassword
  }

  /// The value of `kSecAttrLabel`.
  var labelValue: AttributeValue? {
    switch attributes[OwnName.of(.label)] {
    case "data": return .data(Data(label.utf8))
    case WrittenItem.noLabel:
      // A person may have given the item another label since it was stored.
      let made = itemClass.map { WrittenItem.label(of: $0, attributes) }
      return label == made ? nil : .text(label)
    case let written?: return WrittenValue.fromFull(written) ?? .text(label)
    case nil: return label.isEmpty && !isOwn ? nil : .text(label)
    }
  }

  /// The item in Apple's form; nil if it has none of Apple's classes, or if the vault could not read it.
  ///
  /// - Parameter group: the access group of items that other programs stored.
  func storedItem(foreignGroup group: String) -> StoredItem? {
    guard isKnown, let itemClass, let accessible = AccessibilityClass(name: accessible), let control else { return nil }
    var values: [AttributeName: AttributeValue] = [:]
    let worldNames = itemClass.worldNames
    for name in AttributeName.allCases where name != .label {
      let world = worldNames[name].flatMap { attributes[$0] }
      values[name] = WrittenValue.value(world: world, own: attributes[OwnName.of(name)], of: name)
    }
    values[.label] = labelValue
    values[.creationDate] = .date(Date(timeIntervalSince1970: TimeInterval(created)))
    values[.modificationDate] = .date(Date(timeIntervalSince1970: TimeInterval(modified)))
    return StoredItem(
      reference: ItemReference(itemClass: itemClass, identifier: identifier),
      accessGroup: isOwn ? attributes[OwnName.accessGroup] ?? "" : group,
      isSynchronizable: attributes[OwnName.synchronizable] == "1",
      protection: Protection(accessible: accessible, control: control), attributes: values, secret: nil)
  }
}
