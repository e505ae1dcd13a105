import LatchkeyText

/// Text that other programs chose, such as labels and attributes, made safe to show. Unchanged, a label of a hundred lines would
/// push everything else away. A label that turns the direction of writing would look like another label.
enum ShownText {
  /// The window shows so many characters (Unicode scalars) of a name at most.
  static let nameLimit = 200
  /// The window shows so many characters of a sentence at most.
  static let sentenceLimit = 1000
  /// How many marks one character may carry. Marks are drawn above and below each other, so many of them would cover the lines
  /// around.
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
    // Almost every text is short and plain, and a long list has many texts.
    if text.utf8.count <= limit, text.utf8.allSatisfy({ 0x20..<0x7f ~= $0 }) { return text }
    // An array knows its count. A string would go through all its scalars to count them.
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
      // The two joiners are part of words. Other format characters are invisible and change the text around them.
      case .format: if scalar.value == 0x200C || scalar.value == 0x200D { line.append(scalar) }
      case .surrogate, .privateUse, .unassigned: continue
      // Marks at the start of a name would be drawn over the text before it.
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
  /// A name, safe to show.
  var name: String { ShownText.name(string) }
  /// A sentence, safe to show.
  var sentence: String { ShownText.sentence(string) }
}
