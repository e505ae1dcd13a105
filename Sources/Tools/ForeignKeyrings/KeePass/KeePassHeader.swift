import LatchkeySodium

/// The clear part of a .kdbx file, for one question: the cost of one guess of the password. KeePassXC accepts any cost there, so a
/// foreign file could use all memory, or take for ever.
public enum KeePassHeader {
  /// The most memory that a header may request. KeePassXC itself proposes 64 MiB.
  static let memoryLimit: UInt64 = 1 << 30
  /// The memory that all passes together may cover, which is about a minute's work.
  static let workLimit: UInt64 = 64 << 30
  /// The most threads that a header may request.
  static let laneLimit: UInt64 = 256
  /// The most rounds of AES that a header may request, about a minute's work.
  static let roundLimit: UInt64 = 1_000_000_000

  /// The key derivation, with the parameters of every kind that KeePassXC knows.
  private static let parameters: Set = ["$UUID", "S", "V", "P", "M", "I", "K", "A", "R"]
  /// The parameters that set the cost.
  private static let costs: Set = ["M", "I", "P", "R"]

  private static let magic: [UInt8] = [0x03, 0xD9, 0xA2, 0x9A, 0x67, 0xFB, 0x4B, 0xB5]

  /// Checks the cost. Files of other kinds pass: KeePassXC reports them.
  ///
  /// - Throws: ``ForeignFileError/tooCostly``, or ``ForeignFileError/damaged`` if the header cannot be followed.
  public static func check(_ bytes: borrowing SecureBytes) throws(ForeignFileError) {
    guard bytes.bytes.starts(with: magic) else { return }
    var reader = SecretReader(0..<bytes.count)
    _ = try reader.range(magic.count)
    // The minor version.
    _ = try reader.littleEndian(2, bytes)
    let version = try reader.littleEndian(2, bytes)
    // KeePassXC knows no later version.
    guard version <= 4 else { return }
    while true {
      let field = try reader.littleEndian(1, bytes)
      guard let size = Int(exactly: try reader.littleEndian(version == 4 ? 4 : 2, bytes)) else { throw .damaged }
      let content = try reader.range(size)
      switch (field, version) {
      case (0, _): return
      case (6, _):
        var content = SecretReader(content)
        try require(try content.littleEndian(8, bytes), roundLimit)
      case (11, 4): try checkDerivation(bytes, content)
      default: break
      }
    }
  }

  /// The parameters of version 4: names with values of several types.
  private static func checkDerivation(_ bytes: borrowing SecureBytes, _ place: Range<Int>) throws(ForeignFileError) {
    var reader = SecretReader(place)
    // The version of the list.
    _ = try reader.littleEndian(2, bytes)
    var names: Set<String> = []
    var numbers: [String: UInt64] = [:]
    while true {
      let type = try reader.littleEndian(1, bytes)
      if type == 0 { break }
      let name = bytes.text(try reader.range(Int(try reader.littleEndian(4, bytes))))
      let value = try reader.range(Int(try reader.littleEndian(4, bytes)))
      // KeePassXC ends a name at its first zero and drops a byte order mark, so it reads "M\0x" as "M". If a name comes twice,
      // KeePassXC takes the last value.
      guard let name, name.utf8.allSatisfy({ $0 < 0x80 }), parameters.contains(name), names.insert(name).inserted else {
        throw .damaged
      }
      guard costs.contains(name) else { continue }
      // KeePassXC would also convert other types to a number, such as text.
      guard let size = [0x04: 4, 0x05: 8][type], value.count == size else { throw .damaged }
      var content = SecretReader(value)
      numbers[name] = try content.littleEndian(size, bytes)
    }
    try require(numbers["M"] ?? 0, memoryLimit)
    try require(numbers["P"] ?? 0, laneLimit)
    try require(numbers["R"] ?? 0, roundLimit)
    let (work, isTooMuch) = (numbers["M"] ?? 0).multipliedReportingOverflow(by: numbers["I"] ?? 0)
    try require(isTooMuch ? .max : work, workLimit)
  }

  private static func require(_ number: UInt64, _ limit: UInt64) throws(ForeignFileError) {
    guard number <= limit else { throw .tooCostly }
  }
}
