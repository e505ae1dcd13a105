import LatchkeySodium

/// Copies of secrets for the tests. They are not real secrets.
func octets(_ value: borrowing SecureBytes) -> [UInt8] {
  value.bytes.withUnsafeBytes { Array($0) }
}

func octets(_ value: borrowing Key) -> [UInt8] {
  value.bytes.withUnsafeBytes { Array($0) }
}

func key(_ bytes: [UInt8]) throws(SodiumError) -> Key {
  try Key(copying: bytes.span.bytes)
}

func key(filledWith byte: UInt8) throws(SodiumError) -> Key {
  try key([UInt8](repeating: byte, count: 32))
}

extension Array where Element == UInt8 {
  /// A copy with one bit flipped.
  func flipped(_ bit: Int) -> [UInt8] {
    var copy = self
    copy[bit / 8] ^= UInt8(1) << UInt8(bit % 8)
    return copy
  }

  init(hex: String) {
    self = stride(from: 0, to: hex.count, by: 2).compactMap { offset in
      let start = hex.index(hex.startIndex, offsetBy: offset)
      return UInt8(hex[start..<hex.index(start, offsetBy: 2)], radix: 16)
    }
  }
}
