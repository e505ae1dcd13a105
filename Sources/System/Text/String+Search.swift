/// Searches for a text by its bytes. The standard library's searches are in `_StringProcessing`, which adds 1.3 MB to a program
/// because it contains regular expressions. The argument labels differ, so that no call uses the library's by mistake.
extension StringProtocol {
  /// The first place of the text; nil if the text does not occur.
  public func firstRange(ofText text: some StringProtocol) -> Range<Index>? {
    range(ofText: text, from: startIndex)
  }

  /// All places of the text, from the front, without overlaps.
  public func ranges(ofText text: some StringProtocol) -> [Range<Index>] {
    var ranges: [Range<Index>] = []
    while let range = range(ofText: text, from: ranges.last?.upperBound ?? startIndex), !range.isEmpty {
      ranges.append(range)
    }
    return ranges
  }

  /// Whether the text occurs anywhere.
  public func contains(text: some StringProtocol) -> Bool { firstRange(ofText: text) != nil }

  /// A copy in which `other` replaces each occurrence of `text`.
  public func replacing(text: some StringProtocol, with other: some StringProtocol) -> String {
    var result = ""
    var start = startIndex
    for range in ranges(ofText: text) {
      result += self[start..<range.lowerBound]
      result += other
      start = range.upperBound
    }
    return result + self[start...]
  }

  /// The parts between the occurrences of a text; as with Swift's own `split`, no part is empty.
  public func split(text: some StringProtocol) -> [SubSequence] {
    var parts: [SubSequence] = []
    var start = startIndex
    for range in ranges(ofText: text) {
      parts.append(self[start..<range.lowerBound])
      start = range.upperBound
    }
    return (parts + [self[start...]]).filter { !$0.isEmpty }
  }

  private func range(ofText text: some StringProtocol, from start: Index) -> Range<Index>? {
    var at = start
    while at < utf8.endIndex {
      if utf8[at...].starts(with: text.utf8) { return at..<utf8.index(at, offsetBy: text.utf8.count) }
      utf8.formIndex(after: &at)
    }
    return text.isEmpty ? at..<at : nil
  }
}
