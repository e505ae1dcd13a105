import LatchkeyGettext

/// One file that a switch changes, with what puts it back.
public struct FileChange: Codable, Equatable, Sendable {
  /// Which way of a switch made it.
  public enum Side: String, Codable, Sendable {
    /// It keeps another provider from offering secrets.
    case toLatchkey
    /// It has Latchkey step aside.
    case back
  }

  /// One line of a file that is otherwise the person's.
  struct Setting: Codable, Equatable, Sendable {
    let section: String
    let key: String
    let value: String
    /// The value that it had; nil where there was none.
    let former: String?
  }

  /// The file's path.
  public let path: String
  /// Which way made it.
  public let side: Side
  /// What it is for, in English words.
  public let purpose: String
  /// What was there.
  public internal(set) var before: FileState
  /// What is there afterwards.
  public internal(set) var after: FileState
  var settings: [Setting] = []

  /// What it is for, in the person's language.
  public var purposeWords: String { Purpose.words(of: purpose) }

  /// What is done, for a person, as part of a list.
  public func words(home: String?) -> String {
    let place = Self.short(path, home: home)
    switch after {
    case .absent: return translated("remove \(place): \(purposeWords)")
    case .link(let target): return translated("link \(place) to \(target): \(purposeWords)")
    case .file:
      guard !settings.isEmpty else { return translated("write \(place): \(purposeWords)") }
      let lines = settings.map { translated("\($0.key)=\($0.value) in [\($0.section)]") }
      let list = lines.dropFirst().reduce(lines[0]) { translated("\($0) and \($1)") }
      return translated("set \(list) of \(place): \(purposeWords)")
    }
  }

  /// What putting it back does, for a person, as part of a list.
  public func backWords(home: String?) -> String {
    let place = Self.short(path, home: home)
    switch before {
    case .absent: return translated("remove \(place), which did not exist before")
    case .link(let target): return translated("link \(place) to \(target), as before")
    case .file: return translated("restore \(place) as it was")
    }
  }

  /// A path with `~` for the home folder.
  static func short(_ path: String, home: String?) -> String {
    guard let home, path.hasPrefix(home + "/") else { return path }
    return "~" + path.dropFirst(home.count)
  }
}
