import LatchkeySodium

/// The names of columns and the form of values that the program which wrote a table uses.
public enum TableDialect: Sendable {
  /// By RFC 4180, with the names of many programs.
  case usual
  /// KeePass 1.x, and the export of KeePass 2 that has the same form: a backslash comes before each quote and each backslash.
  case keePass1
  /// LastPass, whose extension writes & < > as HTML does.
  case lastPass

  /// - Parameter names: the first row, in small letters.
  init(_ names: [String]) {
    if names == ["account", "login name", "password", "web site", "comments"] {
      self = .keePass1
    } else if Set(names).isSuperset(of: ["url", "username", "password", "extra", "grouping", "fav"]) {
      self = .lastPass
    } else {
      self = .usual
    }
  }

  /// The columns that have names of this dialect alone.
  var names: [String: PasswordTable.Column] {
    switch self {
    case .usual: [:]
    case .keePass1: ["account": .label, "login name": .user, "web site": .url, "comments": .notes]
    case .lastPass: ["extra": .notes, "grouping": .group]
    }
  }

  /// Columns that say nothing about a password.
  var ignored: Set<String> { self == .lastPass ? ["fav"] : [] }
}

/// Characters that HTML writes as entities: & as &amp; and so on.
enum TableEntities {
  /// The evidence in a column's values of how they were written.
  struct Evidence {
    /// The number of values with entities.
    var values = 0
    /// Whether a value has a character that HTML would have written as an entity. If a value has one, no value of the column is
    /// HTML.
    var isPlain = false

    /// Whether the whole column can be HTML, and some value in it has an entity.
    var isEscaped: Bool { values > 0 && !isPlain }

    /// Looks at a value.
    mutating func add(_ bytes: borrowing SecureBytes, _ range: Range<Int>) {
      var hasEntity = false
      for at in range {
        switch bytes.octet(at) {
        case UInt8(ascii: "<"), UInt8(ascii: ">"): isPlain = true
        case UInt8(ascii: "&"):
          if TableEntities.begins(bytes, at..<range.upperBound) { hasEntity = true } else { isPlain = true }
        default: break
        }
      }
      if hasEntity { values += 1 }
    }
  }

  private static let all = ["&amp;", "&lt;", "&gt;", "&quot;", "&apos;", "&#39;"].map { Array($0.utf8) }

  private static func begins(_ bytes: borrowing SecureBytes, _ range: Range<Int>) -> Bool {
    let part = bytes.bytes.extracting(range)
    return all.contains { part.starts(with: $0) }
  }
}
