/// Writes the fields that ``SSHReader`` reads. Do not use it for secrets, because its memory is not erased.
public struct SSHWriter {
  /// The bytes written so far.
  public private(set) var bytes: [UInt8] = []

  /// An empty writer.
  public init() {}

  /// Makes a writer whose first byte is the message's number.
  public init(_ message: AgentMessage) { bytes = [message.rawValue] }

  /// Adds a byte.
  public mutating func byte(_ value: UInt8) { bytes.append(value) }

  /// Adds a number of 32 bits.
  public mutating func number(_ value: UInt32) {
    for shift: UInt32 in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
  }

  /// Adds bytes with their length in front.
  public mutating func string(_ value: some Collection<UInt8>) {
    number(UInt32(clamping: value.count))
    bytes += value
  }

  /// Adds text with its length in front.
  public mutating func text(_ value: String) { string(Array(value.utf8)) }

  /// Adds an unsigned big-endian number as an "mpint": without leading zeros, but with one zero in front if the number would
  /// otherwise look negative.
  public mutating func integer(_ value: [UInt8]) {
    let digits = value.drop { $0 == 0 }
    string((digits.first ?? 0) & 0x80 == 0 ? Array(digits) : [0] + digits)
  }
}
