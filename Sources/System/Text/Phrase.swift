/// A text for a person, with values in it. It is written as a string literal. The text's catalogue entry has "%1$s", "%2$s" instead
/// of the values, so that a translation can put them in another order.
package struct Phrase: ExpressibleByStringInterpolation, Hashable, Sendable {
  /// A value in a text.
  package indirect enum Value: Hashable, Sendable {
    /// A name, a path, a number: the same in every language.
    case plain(String)
    /// Another text, which is translated together with this one.
    case phrase(Phrase)

    var text: String {
      switch self {
      case .plain(let text): text
      case .phrase(let phrase): phrase.text
      }
    }
  }

  /// The texts before, between and behind the values: one more than there are values.
  private let pieces: [String]
  package let values: [Value]

  package init(pieces: [String], values: [String]) { (self.pieces, self.values) = (pieces, values.map(Value.plain)) }

  /// Words that are the same in every language.
  package init(verbatim words: String) { self.init(pieces: ["", ""], values: [words]) }

  package init(stringLiteral text: String) { (pieces, values) = ([text], []) }

  package init(stringInterpolation parts: StringInterpolation) { (pieces, values) = (parts.pieces, parts.values) }

  /// The English text.
  package var text: String { filled(with: values.map(\.text)) }

  /// The English text with other words for the values.
  package func filled(with values: [String]) -> String {
    var text = pieces[0]
    for (value, piece) in zip(values, pieces.dropFirst()) { text += value + piece }
    return text
  }

  /// The key in the catalogue. Without values, "%" is an ordinary character.
  package var key: String {
    guard !values.isEmpty else { return pieces[0] }
    var key = Phrase.escaped(pieces[0])
    for (number, piece) in pieces.dropFirst().enumerated() { key += "%\(number + 1)$s" + Phrase.escaped(piece) }
    return key
  }

  private static func escaped(_ piece: String) -> String {
    var escaped = ""
    for letter in piece { escaped += letter == "%" ? "%%" : String(letter) }
    return escaped
  }

  /// A translation with values in it.
  ///
  /// - Parameter count: the number of values that the translation must have, from the first one on. It may have the other values
  ///   too.
  /// - Returns: nil if the translation lacks a value, for example the name in a question, or has a placeholder without a value.
  package static func filled(_ translation: String, with values: [String], atLeast count: Int) -> String? {
    guard !values.isEmpty else { return translation }
    var filled = ""
    var used = Set<Int>()
    var rest = Substring(translation)
    while let sign = rest.firstIndex(of: "%") {
      filled += rest[..<sign]
      rest = rest[sign...].dropFirst()
      if rest.first == "%" {
        filled += "%"
        rest = rest.dropFirst()
        continue
      }
      let digits = rest.prefix { ("0"..."9").contains($0) }
      rest = rest.dropFirst(digits.count)
      guard let number = Int(digits), values.indices.contains(number - 1), rest.hasPrefix("$s") else { return nil }
      rest = rest.dropFirst(2)
      filled += values[number - 1]
      used.insert(number)
    }
    guard (0..<count).allSatisfy({ used.contains($0 + 1) }) else { return nil }
    return filled + rest
  }

  /// Splits a literal with values into its parts.
  package struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var pieces = [""]
    fileprivate var values: [Value] = []

    package init(literalCapacity: Int, interpolationCount: Int) {}

    package mutating func appendLiteral(_ literal: String) { pieces[pieces.count - 1] += literal }

    package mutating func appendInterpolation(_ value: some Any) { append(.plain("\(value)")) }

    package mutating func appendInterpolation(_ phrase: Phrase) { append(.phrase(phrase)) }

    private mutating func append(_ value: Value) {
      values.append(value)
      pieces.append("")
    }
  }
}
