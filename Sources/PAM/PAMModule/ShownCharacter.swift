/// One character of a foreign text in UTF-8, and whether it may be shown to a person.
struct ShownCharacter {
  /// The number of bytes of the character, at least 1. Each byte that is not UTF-8 counts as a character.
  let size: Int
  let isShown: Bool
  /// Whether the first byte announces more bytes than follow.
  let isCut: Bool

  /// Reads at most `room` bytes, which is at least 1.
  init(_ start: UnsafeRawPointer, room: Int) {
    let first = start.load(as: UInt8.self)
    let wanted =
      switch first {
      case 0xC2...0xDF: 2
      case 0xE0...0xEF: 3
      case 0xF0...0xF4: 4
      default: 1
      }
    isCut = wanted > room
    guard wanted > 1, wanted <= room else {
      size = 1
      isShown = 0x20 <= first && first < 0x7F
      return
    }
    var scalar = UInt32(first) & (wanted == 2 ? 0x1F : wanted == 3 ? 0x0F : 0x07)
    var index = 1
    while index < wanted {
      let byte = start.load(fromByteOffset: index, as: UInt8.self)
      guard byte & 0xC0 == 0x80 else {
        size = 1
        isShown = false
        return
      }
      scalar = scalar << 6 | UInt32(byte & 0x3F)
      index = index &+ 1
    }
    size = wanted
    isShown = ShownCharacter.isShown(scalar, size: wanted)
  }

  private static func isShown(_ scalar: UInt32, size: Int) -> Bool {
    // An overlong form, a surrogate and a number beyond Unicode are not valid UTF-8.
    let lowest: UInt32 = size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000
    guard lowest <= scalar, scalar <= 0x10FFFF, !(0xD800 <= scalar && scalar <= 0xDFFF) else { return false }
    switch scalar {
    case 0x80...0x9F: return false  // Control characters, which some terminals obey.
    case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: return false  // The direction of the text.
    case 0x2028, 0x2029: return false  // Separators of lines and paragraphs.
    default: return true
    }
  }
}
