import LatchkeyReasons
import LatchkeyYAML

/// An error in a file of rules.
public struct RulesError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The file.
  public let path: String
  /// The line, counted from 1; nil if the file could not be read at all.
  public let line: Int?
  /// The error and its remedy, without the place.
  public let mistake: Reason

  /// An error in the file at `path`.
  public init(path: String, line: Int? = nil, _ mistake: Reason) {
    self.path = path
    self.line = line
    self.mistake = mistake
  }

  /// A text that is not of the form that is taken here.
  public init(path: String, _ error: YAMLError) { self.init(path: path, line: error.line, Reason(error.problem)) }

  /// "FILE:LINE: what is wrong".
  public var reason: Reason { .because(.verbatim(path + (line.map { ":\($0)" } ?? "")), mistake) }

  /// The error in English.
  public var description: String { reason.text }

  /// Somebody else's words in a message: short, and without control characters for a terminal.
  static func plain(_ text: String) -> String {
    let short = text.unicodeScalars.prefix(64)
    let cut = short.count < text.unicodeScalars.count ? "…" : ""
    return String(String.UnicodeScalarView(short.map { $0.properties.generalCategory == .control ? "?" : $0 })) + cut
  }

  /// Somebody else's words in quotation marks.
  static func quote(_ text: String) -> String { "'\(plain(text))'" }
}

extension Reason {
  fileprivate init(_ problem: YAMLError.Problem) {
    self =
      switch problem {
      case .tooLarge: .fileLargerThan(kibibytes: YAMLNode.sizeLimit / 1024)
      case .noMemory: .rules(.noMemory)
      case .malformed(nil): .rules(.notYAML)
      case .malformed(let why?): .because(.rules(.notYAML), .verbatim(why))
      case .notUTF8(let why): .notUTF8(why)
      case .secondDocument: .rules(.secondDocument)
      case .tooDeep: .rules(.tooDeep)
      case .nameNotPlain: .rules(.nameNotPlain)
      case .givenTwice(let key): .givenTwice(RulesError.plain(key))
      case .endsEarly: .rules(.endsEarly)
      case .directive: .rules(.directive)
      case .alias: .rules(.alias)
      case .anchor: .rules(.anchor)
      case .tag: .rules(.tag)
      }
  }
}
