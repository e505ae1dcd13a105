import LatchkeyGettext
import LatchkeyItemProtection
import LatchkeySystemd

/// An item as the window shows it: everything but the secret.
struct ShownItem: Sendable, Equatable {
  let path: String
  var label = ""
  var attributes: [String: String] = [:]
  var isLocked = false
  var created: UInt64 = 0
  var modified: UInt64 = 0
  var accessible = ""
  var require = ""

  init(path: String) { self.path = path }

  /// Reads the properties of all interfaces of the item.
  init(path: String, from message: Message) throws(BusError) {
    self.init(path: path)
    var item = self
    try message.readDictionary("sv") { (entry: Message) throws(BusError) in
      switch try entry.readString() {
      case "Label": item.label = try entry.readVariant(.text)
      case "Attributes": item.attributes = try entry.readVariant(.dictionary)
      case "Locked": item.isLocked = try entry.readVariant(.flag)
      case "Created": item.created = try entry.readVariant(.number)
      case "Modified": item.modified = try entry.readVariant(.number)
      case "Accessible": item.accessible = try entry.readVariant(.text)
      case "Require": item.require = try entry.readVariant(.text)
      default: try entry.skip()
      }
    }
    self = item
  }

  /// The place of the item, as the command line writes it.
  var place: String { path.split(separator: "/").suffix(2).joined(separator: "/") }
  /// The label, safe to show.
  var title: String {
    let shown = ShownText.name(label)
    return shown.isEmpty ? isLocked ? translated("(label is locked)") : translated("(no label)") : shown
  }

  /// The program that stored the item, if the attributes name one.
  var program: String {
    for name in ["application", "app_id", "server", "service", "xdg:schema"] {
      if let value = attributes[name], !value.isEmpty { return ShownText.name(value) }
    }
    return ""
  }

  /// The class; nil if this version does not know the class.
  var accessibility: AccessibilityClass? { AccessibilityClass(name: accessible) }

  /// The words of a search, no more than the vault accepts.
  static func searchWords(_ text: String) -> [String] {
    var rest = 1024
    return text.split(separator: " ").prefix(32).map(String.init).filter { word in
      rest -= word.utf8.count
      return rest >= 0
    }
  }
}

/// A collection as the window shows it.
struct ShownCollection: Sendable, Equatable {
  let path: String
  let label: String
  let isLocked: Bool

  var title: String {
    let shown = ShownText.name(label)
    return shown.isEmpty ? String(path.split(separator: "/").last ?? "") : shown
  }
}
