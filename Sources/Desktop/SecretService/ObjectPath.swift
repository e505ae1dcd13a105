/// The object paths of the Secret Service (specification 0.2, "Object Paths"), read and written.
///
/// Paths carry numbers that are never used again, so a path means the same object for ever: across lock, restart and password
/// change. Objects that end with the program (sessions, prompts, items of the session collection) have numbers that start at
/// random.
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
    /// The collection that the alias names.
    case alias(String)
  }

  /// Reads a path. The first collection of a vault is called `login`, because clients look for it by that name.
  init(_ path: String) {
    self = Self.read(path.utf8) ?? .other
  }

  private static let prefix = root + "/"
  private static let slash = UInt8(ascii: "/")

  /// By bytes: every call reads its paths several times.
  private static func read(_ path: String.UTF8View) -> ObjectPath? {
    guard path.starts(with: prefix.utf8) else { return nil }
    let rest = path.dropFirst(prefix.utf8.count)
    guard let end = rest.firstIndex(of: slash) else { return nil }
    let kind = rest[..<end]
    var last = rest[rest.index(after: end)...]
    var item: Int64?
    if let end = last.firstIndex(of: slash) {
      guard let number = number(Substring(last[last.index(after: end)...])) else { return nil }
      (item, last) = (number, last[..<end])
    }
    guard let name = name(kind: Substring(kind), Substring(last)) else { return nil }
    return item.map { .item(name, $0) } ?? .collection(name)
  }

  private static func name(kind: Substring, _ text: Substring) -> CollectionName? {
    switch (kind, text) {
    case ("collection", "login"): return .vault(1)
    case ("collection", "session"): return .session
    case ("collection", _):
      // Not by characters: a mark that combines with the letter would go with it.
      guard text.utf8.first == UInt8(ascii: "c"), let id = number(Substring(text.utf8.dropFirst())), id != 1 else {
        return nil
      }
      return .vault(id)
    case ("aliases", _): return .alias(String(text))
    default: return nil
    }
  }

  /// The path of the session or prompt of this number.
  static func numbered(_ number: UInt64, below prefix: String) -> String { prefix + "/s\(number)" }

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

  /// A name for persons: the last part of its path.
  var name: String { String(path.dropFirst(ObjectPath.collections.count + 1)) }

  /// The number of the vault's collection that a person calls so; nil where no name of one is like that.
  static func number(named name: String) -> Int64? {
    let number = name == CollectionPlace.vault(1).name ? 1 : name.hasPrefix("c") ? Int64(name.dropFirst()) : nil
    return number.flatMap { CollectionPlace.vault($0).name == name ? $0 : nil }
  }

  func path(item: Int64) -> String { path + "/\(item)" }
}
