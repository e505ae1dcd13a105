import LatchkeySecurity

extension ItemClass {
  /// The names that other programs use for the attributes: `secret-tool`, Seahorse, the schemas of libsecret.
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

  /// The attribute by which an item of another program belongs to this class. Only a query that names the attribute returns
  /// such items.
  var leadingAttribute: AttributeName { self == .genericPassword ? .service : .server }

  /// The schema that other programs look for.
  var schema: String {
    switch self {
    case .genericPassword: "org.latchkey.GenericPassword"
    case .internetPassword: "org.gnome.keyring.NetworkPassword"
    }
  }
}

/// Names of attributes that this library adds.
enum OwnName {
  private static let prefix = "keychain:"
  /// The class: only items that `SecItemAdd` stored have it.
  static let itemClass = prefix + "class"
  static let accessGroup = prefix + "agrp"
  static let synchronizable = prefix + "sync"
  /// The hash of the primary key.
  static let key = prefix + "key"
  /// The attribute with an item's schema, by custom.
  static let schema = "xdg:schema"

  /// The name of an attribute.
  static func of(_ name: AttributeName) -> String { prefix + name.rawValue }

  /// Whether an attribute is one of these.
  static func isOne(_ name: String) -> Bool { name.hasPrefix(prefix) }
}
