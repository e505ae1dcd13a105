/// An error in a file of rules.
public struct RulesError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The file.
  public let path: String
  /// The line, counted from 1; nil if the file could not be read at all.
  public let line: Int?
  /// The error and its remedy, for a person.
  public let text: String

  /// An error in the file at `path`.
  public init(path: String, line: Int? = nil, text: String) {
    self.path = path
    self.line = line
    self.text = text
  }

  /// For a person: "FILE:LINE: what is wrong".
  public var description: String { path + (line.map { ":\($0)" } ?? "") + ": " + text }

  /// Somebody else's words in a message: short, and without control characters for a terminal.
  static func quote(_ text: String) -> String {
    let short = text.unicodeScalars.prefix(64)
    let cut = short.count < text.unicodeScalars.count ? "…" : ""
    return "'"
      + String(String.UnicodeScalarView(short.map { $0.properties.generalCategory == .control ? "?" : $0 })) + cut + "'"
  }
}
