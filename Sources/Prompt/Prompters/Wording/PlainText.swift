/// Makes texts that other programs chose, such as labels and names, safe to show. The result is one line of a limited length.
/// Nothing in it controls a terminal, turns the direction of writing, looks like the end of a quotation, or is markup. Prompters
/// differ in what they take as markup, and some show escapes literally. So the characters that begin markup are replaced.
public enum PlainText {
  /// The most characters (Unicode scalars) of a name that a prompt shows.
  static let nameLimit = 80
  /// The most marks that one character may carry. Marks are drawn above and below each other, so many of them would cover the lines
  /// around.
  static let markLimit = 2
  /// The most characters of a sentence, such as a PAM module's message, that a prompt shows.
  static let sentenceLimit = 300
  /// The most bytes of a name or a sentence, escaped for Assuan. All names and sentences of a question must fit into one line of
  /// Assuan, which has 999 bytes, and programs choose their names.
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

  /// The most bytes of a question of several lines, escaped for Assuan. The command and the text around it must fit into the same
  /// line of Assuan.
  static let linesBytes = 950
  /// The most lines of such a question. A longer one could end below the edge of the screen.
  static let linesLimit = 16

  /// A question of another program, with all its lines. Nothing is cut off, because its end may be the important part. Nil if the
  /// question is longer than a prompter can show.
  public static func lines(_ text: String) -> String? {
    guard text.utf8.count <= 4 * linesBytes else { return nil }
    let lines = text.split(whereSeparator: \.isNewline).map {
      clean(String($0), limit: .max, bytes: .max, quotation: "\"")
    }.filter { !$0.isEmpty }
    let all = lines.joined(separator: "\n")
    return lines.count <= linesLimit && Assuan.escape(all).utf8.count <= linesBytes ? all : nil
  }

  /// Whether a character looks like a quotation mark of some language.
  private static func isQuotation(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .initialPunctuation, .finalPunctuation: scalar != "’"
    default: "\"„‚″‶〝〞〟＂".unicodeScalars.contains(scalar)
    }
  }

  /// The number of bytes that a character takes in a line of Assuan.
  private static func size(_ scalar: Unicode.Scalar) -> Int { scalar == "%" ? 3 : UTF8.width(scalar) }

  private static func clean(_ text: String, limit: Int, bytes: Int, quotation: Unicode.Scalar) -> String {
    var result = String.UnicodeScalarView()
    var (size, marks) = (0, 0)
    reading: for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      // These characters are invisible, but change the text around them.
      case .format, .surrogate, .privateUse, .unassigned: continue
      case .control, .lineSeparator, .paragraphSeparator, .spaceSeparator:
        if let last = result.last, last != " " {
          result.append(" ")
          marks = 0
        }
      // Marks at the start of a name would be drawn over the text before it.
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
