/// The attributes that the vault only stores, searches and returns. The raw values are Apple's keys.
///
/// Attributes with a further meaning are members of the types that have them: the access group, whether the item is synchronizable,
/// and the accessibility.
package enum AttributeName: String, CaseIterable, Sendable {
  case account = "acct"
  case service = "svce"
  case generic = "gena"
  case securityDomain = "sdmn"
  case server = "srvr"
  case `protocol` = "ptcl"
  case authenticationType = "atyp"
  case port
  case path
  case label = "labl"
  case description = "desc"
  case comment = "icmt"
  case creator = "crtr"
  case type
  case isInvisible = "invi"
  case isNegative = "nega"
  case creationDate = "cdat"
  case modificationDate = "mdat"

  /// The kind of value of an attribute.
  enum Kind: Sendable {
    /// Text, data or a number, stored as the program gave it.
    case any
    /// A number; yes and no are 1 and 0. Text that is a number counts as that number. Other text stays text.
    case number
    /// A date.
    case date
  }

  /// The kind of the value.
  var kind: Kind {
    switch self {
    case .account, .service, .generic, .securityDomain, .server, .authenticationType, .path, .label, .description,
      .comment:
      .any
    case .protocol, .port, .creator, .type, .isInvisible, .isNegative: .number
    case .creationDate, .modificationDate: .date
    }
  }

  /// Whether items of a class have the attribute.
  func belongs(to itemClass: ItemClass) -> Bool {
    switch self {
    case .service, .generic: itemClass == .genericPassword
    case .securityDomain, .server, .protocol, .authenticationType, .port, .path: itemClass == .internetPassword
    default: true
    }
  }

  /// The value of an item that was stored without this attribute. For primary attributes, "absent" is the same as "empty".
  package var absentValue: AttributeValue? {
    switch self {
    case .account, .service, .securityDomain, .server, .authenticationType, .path: .text("")
    case .protocol, .port: .number(0)
    default: nil
    }
  }

  /// Whether only the vault sets the attribute. A program's value is ignored.
  var isSetByVault: Bool { kind == .date }
}
