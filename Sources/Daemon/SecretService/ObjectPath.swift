import LatchkeyVault

/// The object paths of the Secret Service (specification 0.2, "Object Paths"), read and written.
///
/// An item's number is never used again, so its path means the same item for ever: across lock, restart and password change. A
/// collection has two paths. The path with its number is valid for ever, and the path with the name from its label
/// (``CollectionName``) as long as the collection exists. Answers and signals use the path with the name, if labels can be opened.
/// Objects that end with the program (sessions, prompts, items of the session collection) have numbers that start at random.
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
  /// An item, below its collection or an alias of that collection.
  case item(CollectionName, Int64)
  /// A path of none of the kinds above.
  case other

  /// How a path names a collection.
  enum CollectionName: Equatable {
    /// A collection of the vault, by number.
    case vault(Int64)
    /// A collection of the vault, by the name from its label.
    case named(String)
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

  /// By bytes, because every call reads its paths several times.
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
    case ("collection", "session"): return .session
    case ("collection", _):
      if let id = LatchkeyVault.CollectionName.number(of: String(text)) { return .vault(id) }
      return LatchkeyVault.CollectionName.isPossible(text) ? .named(String(text)) : nil
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

  /// A number in these paths: each has one spelling.
  private static func number(_ text: Substring) -> Int64? {
    guard let value = Int64(text), value > 0, String(value) == text else { return nil }
    return value
  }
}

/// The real place of an object, after aliases.
enum CollectionPlace: Hashable {
  case vault(Int64)
  case session(Int64)

  /// The path with its number. It reveals no label, so a log may contain it.
  var numberPath: String {
    switch self {
    case .vault(let id): ObjectPath.collections + "/" + CollectionName.ofNumber(id)
    case .session: ObjectPath.collections + "/session"
    }
  }
}

extension Vault {
  /// The one path by which signals and answers name a collection.
  func path(ofCollection id: Int64) -> String { ObjectPath.collections + "/" + collections.pathName(of: id) }
}
