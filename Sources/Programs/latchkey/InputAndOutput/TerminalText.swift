/// Text for a terminal.
enum TerminalText {
  /// A line without control characters: other programs choose the names of files, items and bus peers, and none of these names
  /// may control the terminal, or make a line look like another one.
  static func printable(_ line: String) -> String {
    String(String.UnicodeScalarView(line.unicodeScalars.map { isDeceptive($0) ? "?" : $0 }))
  }

  private static func isDeceptive(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    // Marks, embeddings, overrides and isolates reorder the text beside them.
    case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
    // Ends of a line and of a paragraph, and a space without a width. The joiners U+200C and U+200D are part of words.
    case 0x2028, 0x2029, 0x200B: true
    default: scalar.properties.generalCategory == .control
    }
  }
}
