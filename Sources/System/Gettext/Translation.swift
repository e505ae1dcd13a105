import LatchkeyText

/// A text in the person's language; in English if the catalogue has no translation, or a wrong one. `po/extract` finds the
/// literals of these calls. Texts for logs, JSON or a protocol are not translated. No value may be a secret.
package func translated(_ phrase: Phrase) -> String { phrase.translated }

/// A text about a number of things. `one` and `other` have the same values in the same order; `one` may leave out the last ones,
/// and say "a" or "1" instead of a value.
package func translated(_ count: some BinaryInteger, one: Phrase, other: Phrase) -> String {
  let phrase = count == 1 ? one : other
  guard let found = Language.find(one.key, other.key, UInt(truncatingIfNeeded: count)) else { return phrase.text }
  return Phrase.filled(found, with: other.toldValues, atLeast: one.values.count) ?? phrase.text
}

extension Phrase {
  /// The text in the person's language, as ``translated(_:)`` returns it, for a text that is not a literal.
  package var translated: String {
    guard Language.isChosen else { return text }
    let values = toldValues
    return Language.find(key).flatMap { Phrase.filled($0, with: values, atLeast: values.count) } ?? filled(with: values)
  }

  fileprivate var toldValues: [String] {
    values.map { value in
      switch value {
      case .plain(let text): text
      case .phrase(let phrase): phrase.translated
      }
    }
  }
}
