/// The object paths of the Secret Service (specification 0.2, "Object Paths"), read and written.
///
/// Paths carry numbers that are never used again, so a path means the same object for ever: across lock, restart and
/// password change.
enum ObjectPath: Equatable {
  static let root = "/org/freedesktop/secrets"
  static let collections = root + "/collection"
  static let aliases = root + "/aliases"
  static let sessions = root + "/session"
  static let prompts = root + "/prompt"
  /// "No object", and "no prompt needed".
  static let none = "/"

  /// A collection, or an alias for one.
  case collection(CollectionName)
  /// An item, below its collection or an alias for it.
  case item(CollectionName, Int64)
  /// Anything else.
  case other

  /// How a path names a collection.
  enum CollectionName: Equatable {
    /// A collection of the vault, by number.
    case vault(Int64)
    /// The collection that lives in memory only.
    case session
    /// Whatever the alias stands for.
    case alias(String)
  }

  /// Reads a path. The first collection of a vault is called `login`, because clients look for it by that name.
  init(_ path: String) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    guard path.hasPrefix("/"), parts.starts(with: ["org", "freedesktop", "secrets"]),
      parts.count == 5 || parts.count == 6
    else {
      self = .other
      return
    }
    let rest = Array(parts.dropFirst(3))
    let name: CollectionName
    switch (rest[0], rest[1]) {
    case ("collection", "login"): name = .vault(1)
    case ("collection", "session"): name = .session
    case ("collection", let text):
      guard text.first == "c", let id = Self.number(text.dropFirst()), id != 1 else {
        self = .other
        return
      }
      name = .vault(id)
    case ("aliases", let text): name = .alias(String(text))
    default:
      self = .other
      return
    }
    if rest.count == 2 {
      self = .collection(name)
    } else if let item = Self.number(rest[2]) {
      self = .item(name, item)
    } else {
      self = .other
    }
  }

  /// The path without its last part.
  static func parent(of path: String) -> Substring {
    path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
  }

  /// A number as these paths write it: one spelling for each.
  private static func number(_ text: Substring) -> Int64? {
    guard let value = Int64(text), value > 0, String(value) == text else { return nil }
    return value
  }
}

/// Where an object really is, after aliases.
enum CollectionPlace: Hashable {
  case vault(Int64)
  case session(Int64)

  /// The one path by which signals and answers name it.
  var path: String {
    switch self {
    case .vault(1): ObjectPath.collections + "/login"
    case .vault(let id): ObjectPath.collections + "/c\(id)"
    case .session: ObjectPath.collections + "/session"
    }
  }

  /// What a person may call it by: the last part of its path.
  var name: String { String(path.dropFirst(ObjectPath.collections.count + 1)) }

  func path(item: Int64) -> String { path + "/\(item)" }
}
