/// A command line for a person's shell. A value in its text is one word of the line, quoted if a shell would read it otherwise.
///
///     let command: ShellCommand = "chmod 700 \(path)"
public struct ShellCommand: Equatable, Sendable, ExpressibleByStringInterpolation {
  /// The line as a person types it.
  public let line: String

  /// A line in which everything is quoted already.
  public init(line: String) { self.line = line }

  /// A line without any value.
  public init(stringLiteral value: String) { line = value }

  /// A line whose values are quoted.
  public init(stringInterpolation interpolation: Interpolation) { line = interpolation.line }

  /// One word of a shell's command line.
  public static func quoted(_ word: String) -> String {
    let isPlain = word.unicodeScalars.allSatisfy {
      $0.properties.isAlphabetic || "/._-@:0123456789".unicodeScalars.contains($0)
    }
    guard !isPlain || word.isEmpty else { return word }
    return "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }

  /// The text that the line is made of.
  public struct Interpolation: StringInterpolationProtocol {
    fileprivate var line = ""

    /// An empty line.
    public init(literalCapacity: Int, interpolationCount: Int) {}

    /// Adds text that the shell reads unchanged.
    public mutating func appendLiteral(_ literal: String) { line += literal }

    /// One word, or a part of one.
    public mutating func appendInterpolation(_ word: some StringProtocol) { line += ShellCommand.quoted(String(word)) }

    /// A number.
    public mutating func appendInterpolation(_ number: some BinaryInteger) { line += String(number) }

    /// Several words.
    public mutating func appendInterpolation(words: [String]) {
      line += words.map(ShellCommand.quoted).joined(separator: " ")
    }

    /// Another command line, or a part of one.
    public mutating func appendInterpolation(part: ShellCommand) { line += part.line }
  }
}
