/// A piece of a document, with its place in the text.
public struct YAMLNode: Equatable, Sendable {
  /// The line on which the node begins, counted from 1.
  public let line: Int
  /// The content.
  public let content: Content

  /// The three kinds of pieces. The text of a scalar is not interpreted: `yes`, `12` and `~` are text as well.
  public indirect enum Content: Equatable, Sendable {
    /// Text.
    case scalar(String)
    /// A list.
    case sequence([YAMLNode])
    /// Names and their values, in the order of the text; no name comes twice.
    case mapping([Entry])
  }

  /// One line of a mapping.
  public struct Entry: Equatable, Sendable {
    /// The name.
    public let key: String
    /// The place of the name.
    public let line: Int
    /// The value of the key.
    public let value: YAMLNode
  }

  /// The text of a scalar; nil for the other kinds.
  public var scalar: String? {
    if case .scalar(let text) = content { text } else { nil }
  }
}
