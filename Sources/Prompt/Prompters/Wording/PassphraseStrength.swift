import Glibc
import LatchkeySodium

/// How hard a new passphrase is to guess, for a bar beside the field where it is typed: a hint only. It knows no words.
enum PassphraseStrength {
  /// The percentage below which it is a warning.
  static let weak = 50
  /// From how many bits on a passphrase counts as perfect: each guess costs an Argon2id.
  private static let enough = 72.0

  /// From 0 to 100.
  static func percent(_ passphrase: borrowing SecureBytes) -> Int {
    let bits = passphrase.bytes.withUnsafeBytes { bytes in letters(bytes) * log2(alphabet(bytes)) }
    return min(100, Int(bits / enough * 100))
  }

  /// How many letters there are that do not follow from the one before. In a run such as "aaaa", "1234" or "dcba", the first
  /// letter counts fully and each other one a quarter.
  private static func letters(_ bytes: UnsafeRawBufferPointer) -> Double {
    var letters = 0.0
    var step: Int?
    for (index, byte) in bytes.enumerated() {
      let before = index > 0 ? Int(byte) - Int(bytes[index - 1]) : nil
      letters += before.map { abs($0) <= 1 && (step == nil || step == $0) } ?? false ? 0.25 : 1
      step = before
    }
    return letters
  }

  /// The size of the alphabet of the kinds of letters that it uses.
  private static func alphabet(_ bytes: UnsafeRawBufferPointer) -> Double {
    var sizes = (small: 0, capital: 0, digit: 0, sign: 0, other: 0)
    for byte in bytes {
      switch byte {
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
