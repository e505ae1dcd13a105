/// Why a text is no document that is taken here, and where.
public struct YAMLError: Error, Equatable, Sendable {
  /// The line, counted from 1.
  public let line: Int
  /// The error, for a person.
  public let text: String

  init(_ line: Int, _ text: String) {
    self.line = line
    self.text = text
  }
}
