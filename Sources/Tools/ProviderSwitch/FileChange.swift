import LatchkeyGettext
import LatchkeyText

/// One file that a switch changes, and the way back.
public struct FileChange: Codable, Equatable, Sendable {
  /// The direction of the switch that made the change.
  public enum Side: String, Codable, Sendable {
    /// The change keeps another provider from offering secrets.
    case toLatchkey
    /// The change makes Latchkey step aside.
    case back
  }

  /// One line of a file whose other lines belong to the person.
  struct Setting: Codable, Equatable, Sendable {
    let section: String
    let key: String
    let value: String
    /// The setting's former value; nil if the line was missing.
    let former: String?
  }

  /// The file's path.
  public let path: String
  /// The direction of the switch that made the change.
  public let side: Side
  /// The change's purpose, in English words.
  public let purpose: String
  /// The file's state before the change.
  public internal(set) var before: FileState
  /// The file's state after the change.
  public internal(set) var after: FileState
  var settings: [Setting] = []
  /// The added line, if the change adds only a line; nil for other changes, and in records of earlier versions.
  var line: String?

  /// The change's purpose, in the person's language.
  public var purposeWords: String { Purpose.words(of: purpose) }

  /// The change, for a person, as part of a list.
  public func words(home: String?) -> String {
    let place = Self.short(path, home: home)
    switch after {
    case .absent: return translated("remove \(place): \(purposeWords)")
    case .link(let target): return translated("link \(place) to \(target): \(purposeWords)")
    case .file:
      if let line {
        // The words show a tab as a space. To every program that reads such a file, both are the same.
        let shown = line.replacing(text: "\t", with: " ")
        return translated("add '\(shown)' to \(place): \(purposeWords)")
      }
      guard !settings.isEmpty else { return translated("write \(place): \(purposeWords)") }
      let lines = settings.map { translated("\($0.key)=\($0.value) in [\($0.section)]") }
      let list = lines.dropFirst().reduce(lines[0]) { translated("\($0) and \($1)") }
      return translated("set \(list) of \(place): \(purposeWords)")
    }
  }

  /// The way back, for a person, as part of a list.
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
