extension String {
  /// The text, with spaces behind it up to the width of its column.
  func filling(column width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
}
