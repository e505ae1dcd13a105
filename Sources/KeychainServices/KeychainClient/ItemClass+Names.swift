import LatchkeySecurity

extension ItemClass {
  /// The names of the attributes in other programs, such as `secret-tool`, Seahorse and the schemas of libsecret.
  var worldNames: [AttributeName: String] {
    switch self {
    case .genericPassword: [.service: "service", .account: "account"]
    case .internetPassword:
      [
        .server: "server", .account: "user", .protocol: "protocol", .port: "port", .securityDomain: "domain",
        .path: "object", .authenticationType: "authtype",
      ]
    }
  }

  /// The attribute by which an item of another program belongs to this class. A query returns such items only if it names this
  /// attribute.
  var leadingAttribute: AttributeName { self == .genericPassword ? .service : .server }

  /// The schema by which other programs find items of this class.
  var schema: String {
    switch self {
    case .genericPassword: "org.latchkey.GenericPassword"
    case .internetPassword: "org.gnome.keyring.NetworkPassword"
    }
  }
}

/// The names of the attributes that this library adds.
enum OwnName {
  private static let prefix = "keychain:"
  /// The class of the item. Only items that `SecItemAdd` stored have this attribute.
  static let itemClass = prefix + "class"
  static let accessGroup = prefix + "agrp"
  static let synchronizable = prefix + "sync"
  /// The hash of the primary key.
  static let key = prefix + "key"
  /// The attribute that has an item's schema by convention.
  static let schema = "xdg:schema"

  /// This library's own name of an attribute.
  static func of(_ name: AttributeName) -> String { prefix + name.rawValue }

  /// Whether this library added an attribute of this name.
  static func isOne(_ name: String) -> Bool { name.hasPrefix(prefix) }
}
