/// Text for a terminal.
enum TerminalText {
  /// A line without control characters: other programs choose the names of files, items and bus peers, and none of them may
  /// command the terminal.
  static func printable(_ line: String) -> String {
    String(String.UnicodeScalarView(line.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }))
  }
}
