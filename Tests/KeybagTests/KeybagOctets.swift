import Glibc
import LatchkeyKeybag
import LatchkeySodium

/// A copy of a value for comparison. The secrets in tests are not real secrets.
func octets(_ value: borrowing SecureBytes) -> [UInt8] {
  value.bytes.withUnsafeBytes { Array($0) }
}

func octets(_ value: borrowing Key) -> [UInt8] {
  value.bytes.withUnsafeBytes { Array($0) }
}

/// The error that `body` throws; nil if it throws none.
func failure<Failure: Error>(_ body: () throws(Failure) -> Void) -> Failure? {
  do {
    try body()
    return nil
  } catch { return error }
}

extension Array where Element == UInt8 {
  init(hex: String) {
    let digits = Array<UInt8>(hex.utf8).map { UInt8($0 > 0x39 ? $0 - 0x57 : $0 - 0x30) }
    self = stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  /// The content of a file whose last 32 bytes are replaced by the right check sum of the bytes before them.
  var resummed: [UInt8] {
    let content = Array(dropLast(32))
    return content + Sodium.checksum(content.span.bytes)
  }

  /// A copy with one byte changed.
  func with(_ byte: UInt8, at offset: Int) -> [UInt8] {
    var copy = self
    copy[offset] = byte
    return copy
  }

  /// A copy with a little-endian number at the given offset.
  func with<Number: FixedWidthInteger>(number: Number, at offset: Int) -> [UInt8] {
    var copy = self
    Swift.withUnsafeBytes(of: number.littleEndian) { copy.replaceSubrange(offset..<(offset + $0.count), with: $0) }
    return copy
  }
}

extension Keybag {
  static func create(with password: [UInt8], cost: PasswordCost) throws(KeybagError) -> Opened {
    try create(password: password.span.bytes, cost: cost)
  }

  func open(with password: [UInt8]) throws(KeybagError) -> Opened {
    try open(password: password.span.bytes)
  }
}

extension KeybagFile {
  static func create(home: String, owner: uid_t, with password: [UInt8]) throws(KeybagError) -> Keybag.Opened {
    try create(home: home, owner: owner) { () throws(KeybagError) in
      try Keybag.create(with: password, cost: PasswordCost(passes: 3, memory: 32 << 20))
    }
  }
}
