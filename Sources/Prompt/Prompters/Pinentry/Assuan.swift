import LatchkeyPosix
import LatchkeySodium

/// The lines of Assuan, pinentry's protocol: pinentry answers a command with data lines, and then with OK or ERR.
enum Assuan {
  /// The longest line, including its newline.
  static let lineLimit = 1000

  /// Whether a command fits into a line.
  static func fits(_ command: String) -> Bool { command.utf8.count < lineLimit }

  /// A text as the argument of a command.
  static func escape(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "%": result += "%25"
      case "\r": result += "%0D"
      case "\n": result += "%0A"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// How a command ended.
  enum End: Equatable {
    case done
    /// The command failed with this code of libgpg-error, without the error's source.
    case failed(UInt32)
    /// The command has not ended: pinentry asks how strong the new passphrase is. The data are the letters typed so far.
    case asksQuality
    /// The line is not valid Assuan.
    case garbled
  }
}

/// Reads pinentry's answers into locked memory, because the data of an answer may be a password.
final class AssuanReader {
  /// Bytes that arrived and are not parsed yet.
  private var buffer: SecureBytes
  private var filled = 0
  /// The answer's data that have come so far.
  private var data: SecureBytes
  private var dataCount = 0
  /// Whether pinentry has asked for the answer twice and got the same text.
  private(set) var isRepeated = false

  /// The most bytes of data. This is more than PAM accepts for an answer, and longer than any name of a pinentry's kind.
  private static let dataLimit = 1024
  private static let quality = "INQUIRE QUALITY"
  private static let repeated = "S PIN_REPEATED"

  init() throws(SodiumError) {
    buffer = try SecureBytes(count: 2 * Assuan.lineLimit)
    data = try SecureBytes(count: Self.dataLimit)
  }

  /// Lends the free room after the received bytes to `body`, which fills some of it and returns how many bytes.
  func read(from descriptor: Int32) -> Int {
    let count = SystemCall.read(descriptor, into: buffer.mutableBytes(from: filled))
    if count > 0 { filled += count }
    return count
  }

  /// Parses the received bytes. Returns the end of the command; nil if the command has not ended yet.
  func next() -> Assuan.End? {
    while true {
      guard let newline = buffer.bytes.firstIndex(of: 0x0a, in: 0..<filled) else {
        return filled == buffer.count ? .garbled : nil
      }
      let end = read(buffer.bytes.extracting(first: newline))
      buffer.removeFirst(newline + 1)
      filled -= newline + 1
      if let end { return end }
    }
  }

  /// Forgets the answer to the previous command.
  func begin() { isRepeated = false }

  /// Takes the answer's data.
  func takeData() -> SecureBytes? {
    let taken = try? SecureBytes(copying: data.bytes.extracting(first: dataCount))
    data.erase()
    dataCount = 0
    return taken
  }

  private func read(_ line: RawSpan) -> Assuan.End? {
    if line.starts(with: "D ".utf8) { return append(line.extracting(droppingFirst: 2)) ? nil : .garbled }
    if line.starts(with: "OK".utf8) { return .done }
    if line.starts(with: Self.quality.utf8) {
      var start = Self.quality.utf8.count
      while start < line.byteCount, line[start] == UInt8(ascii: " ") { start += 1 }
      return dataCount == 0 && append(line.extracting(droppingFirst: start)) ? .asksQuality : .garbled
    }
    if line.byteCount == Self.repeated.utf8.count, line.starts(with: Self.repeated.utf8) { isRepeated = true }
    if line.starts(with: "ERR ".utf8) {
      let digits = (4..<line.byteCount).prefix(10).prefix { (0x30...0x39).contains(line[$0]) }
      let code = digits.reduce(UInt64(0)) { $0 * 10 + UInt64(line[$1] - 0x30) }
      return .failed(UInt32(truncatingIfNeeded: code & 0xffff))
    }
    // Comments and progress reports are skipped.
    if line.isEmpty || line[0] == UInt8(ascii: "#") || line.starts(with: "S ".utf8) { return nil }
    return .garbled
  }

  /// Decodes escaped data.
  private func append(_ escaped: RawSpan) -> Bool {
    var index = 0
    while index < escaped.byteCount {
      var byte = escaped[index]
      index += 1
      if byte == UInt8(ascii: "%") {
        guard escaped.byteCount - index >= 2, let high = Self.digit(escaped[index]),
          let low = Self.digit(escaped[index + 1])
        else { return false }
        byte = high << 4 | low
        index += 2
      }
      guard dataCount < data.count else { return false }
      data[dataCount] = byte
      dataCount += 1
    }
    return true
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x41 + 10
    case 0x61...0x66: byte - 0x61 + 10
    default: nil
    }
  }
}
