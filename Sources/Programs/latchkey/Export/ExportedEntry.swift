import LatchkeyForeignKeyrings
import LatchkeySecretClient

/// One entry in the form of a password manager: all items of one login together, or any other item alone.
struct ExportedEntry {
  /// A secret of the entry, by the field's name in an import.
  enum Field: Hashable {
    case password, notes, totp, fields
    /// A field that a person added.
    case custom(String)
    case attachment(String)

    /// The field that an item from a password manager names in its attributes.
    fileprivate init?(_ attributes: [String: String]) {
      switch attributes["field"] {
      case "password": self = .password
      case "notes": self = .notes
      case "totp": self = .totp
      case "fields": self = .fields
      case "custom": self = .custom(attributes["custom"] ?? "")
      case "attachment": self = .attachment(attributes["attachment"] ?? "")
      default: return nil
      }
    }

    /// The suffix that an import appends to the label of the item; empty for a password.
    fileprivate var suffix: String {
      switch self {
      case .password: ""
      case .notes: " (notes)"
      case .totp: " (totp)"
      case .fields: " (fields)"
      case .custom(let name), .attachment(let name): " (\(name))"
      }
    }
  }

  private(set) var label: String
  /// The attributes that all of its items have. An attribute that only imports add is left out if the entry has another place for
  /// its value.
  let attributes: [String: String]
  let isLogin: Bool
  private(set) var created: UInt64
  private(set) var modified: UInt64
  private(set) var secrets: [Field: Secret] = [:]

  /// An entry for one item.
  init(_ item: ListedItem, _ secret: Secret) {
    let all = item.attributes ?? [:]
    let field = all["xdg:schema"] == PasswordTable.schema ? Field(all) : nil
    isLogin = field != nil
    attributes = field == nil ? all : all.filter { !["field", "custom", "attachment"].contains($0.key) }
    let suffix = field?.suffix ?? ""
    label = item.label ?? ""
    if !suffix.isEmpty, label.hasSuffix(suffix) { label = String(label.dropLast(suffix.count)) }
    (created, modified) = (item.created, item.modified)
    secrets[field ?? .password] = secret
  }

  /// Takes the secrets of another entry, if it belongs to the same login and has no secret for the same field.
  ///
  /// - Returns: whether the two entries became one.
  mutating func join(_ other: ExportedEntry) -> Bool {
    guard isLogin, other.isLogin, attributes == other.attributes, label == other.label else { return false }
    guard secrets.keys.allSatisfy({ other.secrets[$0] == nil }) else { return false }
    secrets.merge(other.secrets) { mine, _ in mine }
    (created, modified) = (min(created, other.created), max(modified, other.modified))
    return true
  }

  /// The first attribute of `names` that is not empty. Programs call the same thing by many names.
  private func first(_ names: [String]) -> String {
    names.lazy.compactMap { attributes[$0] }.first { !$0.isEmpty } ?? ""
  }

  /// The address in the attributes; empty if there is none.
  var url: String {
    let address = first(["url", "URL", "origin_url", "action_url", "uri"])
    guard address.isEmpty else { return address }
    let server = first(["server", "host", "domain"])
    guard !server.isEmpty, let scheme = attributes["protocol"], !scheme.isEmpty else { return server }
    return "\(scheme)://\(server)" + (attributes["port"].map { ":\($0)" } ?? "")
  }

  var user: String { first(["user", "username", "UserName", "username_value", "account", "login"]) }

  /// The fields that a person added and the attached files, by their names.
  var others: [(name: String, isFile: Bool, secret: Secret)] {
    secrets.compactMap { field, secret in
      switch field {
      case .custom(let name): (name, false, secret)
      case .attachment(let name): (name, true, secret)
      case .password, .notes, .totp, .fields: nil
      }
    }.sorted { $0.name < $1.name }
  }
}

/// The entries of one collection.
struct ExportedEntries {
  private(set) var all: [ExportedEntry] = []
  /// The places of the entries of a login, by the attributes that its items have in common.
  private var logins: [[String: String]: [Int]] = [:]

  /// Adds an item to the entry of the same login, or else as a new entry.
  mutating func add(_ item: ListedItem, _ secret: Secret) {
    let new = ExportedEntry(item, secret)
    if new.isLogin {
      for index in logins[new.attributes] ?? [] where all[index].join(new) { return }
      logins[new.attributes, default: []].append(all.count)
    }
    all.append(new)
  }
}
