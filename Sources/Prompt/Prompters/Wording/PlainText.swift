/// Makes others' text, such as labels and names of programs, safe to show. The result is one line of a limited length. Nothing
/// in it controls a terminal, turns the direction of writing, looks like the end of a quotation, or is markup. Prompters differ
/// in what they take as markup, and some show escapes literally. So the characters that begin markup are replaced.
public enum PlainText {
  /// How many characters (Unicode scalars) are shown of a name.
  static let nameLimit = 80
  /// How many marks one character may carry. Marks are drawn above and below each other, and many of them cover the lines around.
  static let markLimit = 2
  /// How many characters are shown of a sentence, such as the message of a PAM module.
  static let sentenceLimit = 300
  /// How many bytes are shown of a name or a sentence for each of these characters, as Assuan writes them. A line of Assuan has
  /// 999 bytes for all names and sentences of a question, and a program chooses its names.
  static let nameBytes = 120
  static let sentenceBytes = 420

  /// A name to be put between quotation marks; empty if nothing is left.
  public static func name(_ text: String) -> String {
    clean(text, limit: nameLimit, bytes: nameBytes, quotation: "'")
  }

  /// A short name to be put between quotation marks beside another one.
  static func word(_ text: String) -> String { clean(text, limit: 40, bytes: 60, quotation: "'") }

  /// A sentence; empty if nothing is left.
  public static func sentence(_ text: String) -> String {
    clean(text, limit: sentenceLimit, bytes: sentenceBytes, quotation: "\"")
  }

  /// How many bytes a question of several lines may have, as Assuan writes them in one line with its command and with what is around
  /// it.
  static let linesBytes = 950
  /// How many lines it may have. A window of more could show its end below the screen.
  static let linesLimit = 16

  /// A question of another program's with all its lines, of which nothing is cut, as what it is about may be at its end. Nil if it
  /// is longer than a prompter shows.
  public static func lines(_ text: String) -> String? {
    guard text.utf8.count <= 4 * linesBytes else { return nil }
    let lines = text.split(whereSeparator: \.isNewline).map {
      clean(String($0), limit: .max, bytes: .max, quotation: "\"")
    }.filter { !$0.isEmpty }
    let all = lines.joined(separator: "\n")
    return lines.count <= linesLimit && Assuan.escape(all).utf8.count <= linesBytes ? all : nil
  }

  /// Whether it looks like a quotation mark in some language.
  private static func isQuotation(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .initialPunctuation, .finalPunctuation: scalar != "’"
    default: "\"„‚″‶〝〞〟＂".unicodeScalars.contains(scalar)
    }
  }

  /// How many bytes of a line of Assuan a character takes.
  private static func size(_ scalar: Unicode.Scalar) -> Int { scalar == "%" ? 3 : UTF8.width(scalar) }

  private static func clean(_ text: String, limit: Int, bytes: Int, quotation: Unicode.Scalar) -> String {
    var result = String.UnicodeScalarView()
    var (size, marks) = (0, 0)
    reading: for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      // Characters that are not shown, but change the text around them.
      case .format, .surrogate, .privateUse, .unassigned: continue
      case .control, .lineSeparator, .paragraphSeparator, .spaceSeparator:
        if let last = result.last, last != " " {
          result.append(" ")
          marks = 0
        }
      // At the start they would be drawn over the text before the name.
      case .nonspacingMark, .enclosingMark:
        guard !result.isEmpty, marks < markLimit else { continue }
        marks += 1
        result.append(scalar)
      default:
        marks = 0
        switch scalar {
        case "<": result.append("(")
        case ">": result.append(")")
        case "&": result.append("+")
        default: result.append(isQuotation(scalar) ? quotation : scalar)
        }
      }
      size = result.reduce(0) { $0 + Self.size($1) }
      if result.count > limit || size > bytes {
        while result.count > limit || size > bytes - Self.size("…") { size -= Self.size(result.removeLast()) }
        result.append("…")
        break reading
      }
    }
    if result.last == " " { result.removeLast() }
    return String(result)
  }
}
