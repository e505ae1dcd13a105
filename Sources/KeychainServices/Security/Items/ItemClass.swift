/// The classes of items that the vault keeps. The raw values are the values of `kSecClass`.
package enum ItemClass: String, CaseIterable, Sendable {
  /// A password for a service.
  case genericPassword = "genp"
  /// A password for an account on a server.
  case internetPassword = "inet"

  /// The attributes that distinguish two items, in addition to the access group and whether they are synchronizable.
  package var primaryAttributes: [AttributeName] {
    switch self {
    case .genericPassword: [.account, .service]
    case .internetPassword: [.account, .securityDomain, .server, .protocol, .authenticationType, .port, .path]
    }
  }

  /// Reads the value of `kSecClass`.
  ///
  /// - Parameters:
  ///   - term: The value.
  ///   - absence: The code for Apple's other classes, because the vault keeps no such items.
  /// - Throws: The code `absence` for Apple's other classes, `errSecNoSuchClass` for any other text, and `errSecParam` for a value
  ///   that is not text.
  init(term: Any, absence: OSStatus) throws(ItemFailure) {
    guard let text = term as? String else { throw .parameter }
    if ["cert", "keys", "idnt"].contains(text) { throw ItemFailure(absence) }
    guard let known = ItemClass(rawValue: text) else { throw ItemFailure(errSecNoSuchClass, .unknownClass) }
    self = known
  }
}
