import LatchkeyText

/// Text that other programs chose, such as labels and attributes, made safe to show. A window shows some of it as it is: a label of
/// a hundred lines would push everything else away, and one that turns the direction of writing would look like another one.
enum ShownText {
  /// How many characters (Unicode scalars) are shown of a name.
  static let nameLimit = 200
  /// How many are shown of a sentence.
  static let sentenceLimit = 1000
  /// How many marks one character may carry. Marks are drawn above and below each other, and many of them cover the lines around.
  private static let markLimit = 2

  /// A name, such as a label, in one line.
  static func name(_ text: String) -> String { line(text, limit: nameLimit) }

  /// A sentence with names in it, in one line.
  static func sentence(_ text: String) -> String { line(text, limit: sentenceLimit) }

  /// Whether the person's language is written from right to left.
  static let isRightToLeft = beginsRightToLeft(PageName.items.title)

  /// Whether a text begins with a letter of Hebrew, Arabic or another script that is written from right to left.
  private static func beginsRightToLeft(_ text: String) -> Bool {
    guard let first = text.unicodeScalars.first else { return false }
    return [0x590...0x8FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFF, 0x10800...0x10FFF, 0x1E800...0x1EFFF].contains {
      $0.contains(first.value)
    }
  }

  private static func line(_ text: String, limit: Int) -> String {
    // Almost every text is such a one, and a list has many.
    if text.utf8.count <= limit, text.utf8.allSatisfy({ 0x20..<0x7f ~= $0 }) { return text }
    // An array, as counting the scalars of a string goes through all of them.
    var line: [Unicode.Scalar] = []
    var marks = 0
    for scalar in text.unicodeScalars {
      guard line.count < limit else {
        line.append("…")
        break
      }
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator:
        if let last = line.last, last != " " {
          line.append(" ")
          marks = 0
        }
      // The joiners are part of words. The others are not shown, and change the text around them.
      case .format: if scalar.value == 0x200C || scalar.value == 0x200D { line.append(scalar) }
      case .surrogate, .privateUse, .unassigned: continue
      // At the start they would be drawn over the text before the name.
      case .nonspacingMark, .enclosingMark:
        guard !line.isEmpty, marks < markLimit else { continue }
        marks += 1
        line.append(scalar)
      default:
        marks = 0
        line.append(scalar)
      }
    }
    if line.last == " " { line.removeLast() }
    return String(String.UnicodeScalarView(line))
  }
}

extension JSONValue {
  /// The text of a name, to be shown.
  var name: String { ShownText.name(string) }
  /// The text of a sentence, to be shown.
  var sentence: String { ShownText.sentence(string) }
}
