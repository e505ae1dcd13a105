/// Why a text is not an accepted document, and the place of the error.
public struct YAMLError: Error, Equatable, Sendable {
  /// The error.
  public enum Problem: Equatable, Sendable {
    /// The text has more than ``YAMLNode/sizeLimit`` bytes.
    case tooLarge
    /// There is no memory for the parser.
    case noMemory
    /// The text is malformed; libyaml's words, if it has any.
    case malformed(String?)
    /// The bytes are not UTF-8; libyaml's words.
    case notUTF8(String)
    /// A second document begins.
    case secondDocument
    /// Lists and mappings are in each other, deeper than ``YAMLNode/depthLimit``.
    case tooDeep
    /// There is a list or a mapping instead of a name.
    case nameNotPlain
    /// A mapping has that name twice.
    case givenTwice(String)
    /// The text ends within a list or a mapping.
    case endsEarly
    /// A line begins with %.
    case directive
    /// A text begins with *.
    case alias
    /// A text begins with &.
    case anchor
    /// A text begins with !.
    case tag
  }

  /// The line, counted from 1.
  public let line: Int
  /// The error.
  public let problem: Problem

  init(_ line: Int, _ problem: Problem) {
    self.line = line
    self.problem = problem
  }
}
