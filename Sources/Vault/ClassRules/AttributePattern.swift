/// A pattern for the whole value of an attribute: `*` stands for any text, `?` for one character.
struct AttributePattern: Equatable, Sendable {
  private let pattern: [UInt8]

  init(_ text: String) { pattern = Array(text.utf8) }

  /// Whether all of `value` fits. At most, the time grows with the product of the two lengths.
  func fits(_ value: String) -> Bool {
    let value = Array(value.utf8)
    var (at, place) = (0, 0)
    // The place of the last star, and the end of the text that it matches for now.
    var star: (at: Int, place: Int)?
    while place < value.count {
      if at < pattern.count, pattern[at] == UInt8(ascii: "*") {
        star = (at, place)
        at += 1
      } else if at < pattern.count, pattern[at] == UInt8(ascii: "?") {
        at += 1
        place = Self.end(ofCharacterAt: place, value)
      } else if at < pattern.count, pattern[at] == value[place] {
        at += 1
        place += 1
      } else if let last = star {
        let further = Self.end(ofCharacterAt: last.place, value)
        star = (last.at, further)
        (at, place) = (last.at + 1, further)
      } else {
        return false
      }
    }
    return pattern[at...].allSatisfy { $0 == UInt8(ascii: "*") }
  }

  private static func end(ofCharacterAt place: Int, _ value: [UInt8]) -> Int {
    var end = place + 1
    while end < value.count, value[end] & 0xC0 == 0x80 { end += 1 }
    return end
  }
}
