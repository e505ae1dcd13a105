import LatchkeyText

/// A text in English from a file, such as a note of what was done. The template is a literal with the places of its values, so
/// that ``Templates`` recognises the text and finds its values. `po/extract` finds the literals of `Template("…")`.
package struct Template: ExpressibleByStringInterpolation, Sendable {
  /// The kind of a place.
  package enum Place: Sendable {
    /// A name, a path, a number: the same in every language.
    case value
    /// Another text that has a template.
    case text
  }

  /// The texts before, between and behind the places: one more than there are places.
  let pieces: [String]
  let places: [Place]

  package init(stringLiteral text: String) { (pieces, places) = ([text], []) }

  package init(stringInterpolation parts: StringInterpolation) { (pieces, places) = (parts.pieces, parts.places) }

  /// The English text with these values.
  package func filled(_ values: String...) -> String { Phrase(pieces: pieces, values: values).text }

  /// Splits a literal with places into its parts.
  package struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var pieces = [""]
    fileprivate var places: [Place] = []

    package init(literalCapacity: Int, interpolationCount: Int) {}

    package mutating func appendLiteral(_ literal: String) { pieces[pieces.count - 1] += literal }

    package mutating func appendInterpolation(_ place: Place) {
      places.append(place)
      pieces.append("")
    }
  }

  /// The values in a text; nil if the template does not fit the text.
  func values(in text: String) -> [String]? {
    var rest = Array(text.utf8)[...]
    let first = Array(pieces[0].utf8)
    guard rest.starts(with: first) else { return nil }
    rest = rest.dropFirst(first.count)
    var values: [String] = []
    for (number, piece) in pieces.enumerated().dropFirst() {
      let piece = Array(piece.utf8)
      // A value ends where the next piece first begins. The last piece must be the end of the text.
      let isLast = number == pieces.count - 1
      guard let start = isLast ? Self.end(of: rest, piece) : Self.start(of: piece, in: rest), start > rest.startIndex
      else { return nil }
      values.append(String(decoding: rest[..<start], as: UTF8.self))
      rest = rest[start...].dropFirst(piece.count)
    }
    return rest.isEmpty ? values : nil
  }

  private static func start(of piece: [UInt8], in text: ArraySlice<UInt8>) -> Int? {
    guard text.count >= piece.count else { return nil }
    return (text.startIndex...text.endIndex - piece.count).first { text[$0...].starts(with: piece) }
  }

  private static func end(of text: ArraySlice<UInt8>, _ piece: [UInt8]) -> Int? {
    text.suffix(piece.count).elementsEqual(piece) ? text.endIndex - piece.count : nil
  }
}

/// All texts of one source. They translate the English text of a file into the person's language.
package struct Templates: Sendable {
  private let plain: Set<String>
  private let filled: [Template]

  /// - Parameter templates: the templates; the first one that fits a text counts.
  package init(_ templates: [Template]) {
    plain = Set(templates.filter(\.places.isEmpty).map { $0.pieces[0] })
    filled = templates.filter { !$0.places.isEmpty }
  }

  /// A text in the person's language. An unknown text stays unchanged.
  package func translation(of text: String) -> String { Language.isChosen ? translation(of: text, depth: 0) : text }

  private func translation(of text: String, depth: Int) -> String {
    // The depth is bounded, because the text comes from a file.
    guard depth < 16 else { return text }
    if plain.contains(text) { return Language.find(text) ?? text }
    for template in filled {
      guard let values = template.values(in: text) else { continue }
      let told = zip(values, template.places).map { value, place in
        place == .text ? translation(of: value, depth: depth + 1) : value
      }
      return Phrase(pieces: template.pieces, values: told).translated
    }
    return text
  }
}
