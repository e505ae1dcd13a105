/// The patterns of KWallet's old list methods: `*` matches any text, `?` one character, and `[…]` one character of a set.
enum Wildcard {
  /// Whether the whole name fits the pattern.
  static func matches(_ name: ExactName, _ pattern: ExactName) -> Bool {
    matches(Array(name.text.unicodeScalars)[...], Array(pattern.text.unicodeScalars)[...])
  }

  private static func matches(_ name: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>) -> Bool {
    var (name, pattern) = (name, pattern)
    // The place of the last `]`. Without it, each unclosed `[` would cost a search to the pattern's end.
    let lastClose = pattern.lastIndex(of: "]") ?? -1
    // The place of the last star, and the end of the text that it matches so far.
    var retry: (name: ArraySlice<Unicode.Scalar>, pattern: ArraySlice<Unicode.Scalar>)?
    while true {
      if pattern.first == "*" {
        pattern = pattern.dropFirst()
        retry = (name, pattern)
      } else if let first = name.first, let rest = rest(of: pattern, after: first, lastClose: lastClose) {
        (name, pattern) = (name.dropFirst(), rest)
      } else if name.isEmpty, pattern.isEmpty {
        return true
      } else {
        guard let last = retry, !last.name.isEmpty else { return false }
        retry = (last.name.dropFirst(), last.pattern)
        (name, pattern) = (last.name.dropFirst(), last.pattern)
      }
    }
  }

  /// The rest of a pattern after its first part has matched `character`; nil if the first part does not match.
  private static func rest(
    of pattern: ArraySlice<Unicode.Scalar>, after character: Unicode.Scalar, lastClose: Int
  ) -> ArraySlice<Unicode.Scalar>? {
    guard let first = pattern.first else { return nil }
    if first == "?" || first == character && first != "[" { return pattern.dropFirst() }
    guard first == "[", pattern.startIndex + 2 <= lastClose, let end = pattern.dropFirst(2).firstIndex(of: "]") else {
      return first == character ? pattern.dropFirst() : nil
    }
    var set = pattern[(pattern.startIndex + 1)..<end]
    let isNegated = set.first == "!" || set.first == "^"
    if isNegated { set = set.dropFirst() }
    var isIn = false
    while let low = set.popFirst() {
      if set.first == "-", let high = set.dropFirst().first {
        set = set.dropFirst(2)
        isIn = isIn || low <= character && character <= high
      } else {
        isIn = isIn || low == character
      }
    }
    return isIn != isNegated ? pattern[(end + 1)...] : nil
  }
}
