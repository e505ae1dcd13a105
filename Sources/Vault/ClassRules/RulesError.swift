import LatchkeyReasons
import LatchkeyYAML

/// An error in a file of rules.
public struct RulesError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The file.
  public let path: String
  /// The line, counted from 1; nil if the file could not be read at all.
  public let line: Int?
  /// The error and its remedy, without path and line.
  public let mistake: Reason

  /// An error in the file at `path`.
  public init(path: String, line: Int? = nil, _ mistake: Reason) {
    self.path = path
    self.line = line
    self.mistake = mistake
  }

  /// The error for a text that is not valid YAML of the supported kind.
  public init(path: String, _ error: YAMLError) { self.init(path: path, line: error.line, Reason(error.problem)) }

  /// "FILE:LINE: what is wrong".
  public var reason: Reason { .because(.verbatim(path + (line.map { ":\($0)" } ?? "")), mistake) }

  /// The error in English.
  public var description: String { reason.text }

  /// A foreign text, made safe for a message: it is short, and has no control characters.
  static func plain(_ text: String) -> String {
    let short = text.unicodeScalars.prefix(64)
    let cut = short.count < text.unicodeScalars.count ? "…" : ""
    return String(String.UnicodeScalarView(short.map { $0.properties.generalCategory == .control ? "?" : $0 })) + cut
  }

  /// A foreign text in quotation marks.
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
