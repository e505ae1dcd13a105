/// Why a text is not an accepted document, and the place of the error.
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
