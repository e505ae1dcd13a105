/// A text for a person, with values in it. It is written as a string literal. Its catalogue entry has "%1$s", "%2$s" in the
/// place of the values, so that a translation can put them in another order.
package struct Phrase: ExpressibleByStringInterpolation {
  /// The texts before, between and behind the values: one more than there are values.
  private let pieces: [String]
  let values: [String]

  init(pieces: [String], values: [String]) { (self.pieces, self.values) = (pieces, values) }

  package init(stringLiteral text: String) { (pieces, values) = ([text], []) }

  package init(stringInterpolation parts: StringInterpolation) { (pieces, values) = (parts.pieces, parts.values) }

  /// The English text.
  package var text: String {
    var text = pieces[0]
    for (value, piece) in zip(values, pieces.dropFirst()) { text += value + piece }
    return text
  }

  /// The key in the catalogue. Without values, "%" is an ordinary character.
  var key: String {
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
  /// - Parameter count: how many of the values, from the first on, the translation must have. It may have the others.
  /// - Returns: nil if it lacks a value, which may be the name that the person is asked about, or has a placeholder without a
  ///   value.
  static func filled(_ translation: String, with values: [String], atLeast count: Int) -> String? {
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
    fileprivate var values: [String] = []

    package init(literalCapacity: Int, interpolationCount: Int) {}

    package mutating func appendLiteral(_ literal: String) { pieces[pieces.count - 1] += literal }

    package mutating func appendInterpolation(_ value: some Any) {
      values.append("\(value)")
      pieces.append("")
    }
  }
}

/// A text in the person's language; in English if the catalogue has no translation, or a wrong one. `po/extract` finds the
/// literals of these calls. Texts for logs, JSON or a protocol are not translated. No value may be a secret.
package func translated(_ phrase: Phrase) -> String {
  guard let found = Language.find(phrase.key) else { return phrase.text }
  return Phrase.filled(found, with: phrase.values, atLeast: phrase.values.count) ?? phrase.text
}

/// A text about a number of things. Both have the same values in the same order; `one` may leave out the last ones, and say
/// "a" or "1" instead of a value.
package func translated(_ count: some BinaryInteger, one: Phrase, other: Phrase) -> String {
  let phrase = count == 1 ? one : other
  guard let found = Language.find(one.key, other.key, UInt(truncatingIfNeeded: count)) else { return phrase.text }
  return Phrase.filled(found, with: other.values, atLeast: one.values.count) ?? phrase.text
}
