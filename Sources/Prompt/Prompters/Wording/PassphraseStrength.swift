import Glibc
import LatchkeySodium

/// How hard a new passphrase is to guess, for a bar beside the field. This is only a hint: it knows no words of any language.
enum PassphraseStrength {
  /// A passphrase with a lower percentage gets a warning.
  static let weak = 50
  /// The number of bits from which a passphrase counts as perfect. The number can be low, because each guess costs one run of
  /// Argon2id.
  private static let enough = 72.0

  /// The strength of a passphrase, from 0 to 100.
  static func percent(_ passphrase: borrowing SecureBytes) -> Int {
    let bits = letters(passphrase.bytes) * log2(alphabet(passphrase.bytes))
    return min(100, Int(bits / enough * 100))
  }

  /// The number of letters that do not follow from the letter before. In a run such as "aaaa", "1234" or "dcba", the first letter
  /// counts fully and each other one a quarter.
  private static func letters(_ bytes: RawSpan) -> Double {
    var letters = 0.0
    var step: Int?
    for index in bytes.byteOffsets {
      let before = index > 0 ? Int(bytes[index]) - Int(bytes[index - 1]) : nil
      letters += before.map { abs($0) <= 1 && (step == nil || step == $0) } ?? false ? 0.25 : 1
      step = before
    }
    return letters
  }

  /// The size of the alphabet that a passphrase uses: the sum over its kinds of letters.
  private static func alphabet(_ bytes: RawSpan) -> Double {
    var sizes = (small: 0, capital: 0, digit: 0, sign: 0, other: 0)
    for index in bytes.byteOffsets {
      switch bytes[index] {
      case UInt8(ascii: "a")...UInt8(ascii: "z"): sizes.small = 26
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): sizes.capital = 26
      case UInt8(ascii: "0")...UInt8(ascii: "9"): sizes.digit = 10
      case 0x20...0x7e: sizes.sign = 33
      default: sizes.other = 40
      }
    }
    return Double(max(1, sizes.small + sizes.capital + sizes.digit + sizes.sign + sizes.other))
  }
}
