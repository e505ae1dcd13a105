import LatchkeyPosix
import LatchkeySodium

/// A secret of unknown size that another program writes, in locked memory that grows.
struct GrowingSecret: ~Copyable {
  private var bytes: SecureBytes
  /// How many bytes were read.
  private(set) var count = 0

  init() throws(SodiumError) { bytes = try SecureBytes(count: 64 << 10) }

  /// Whether the next byte needs more memory.
  var isFull: Bool { count == bytes.count }

  /// Reads once. The memory grows before, if it is full.
  ///
  /// - Returns: as read(2).
  mutating func read(from descriptor: Int32) throws(SodiumError) -> Int {
    if isFull {
      var larger = try SecureBytes(count: 2 * count)
      larger.write(bytes.bytes, at: 0)
      bytes = larger
    }
    let taken = SystemCall.read(descriptor, into: bytes.mutableBytes(from: count))
    if taken > 0 { count += taken }
    return taken
  }

  /// The bytes that were read.
  consuming func finish() throws(SodiumError) -> SecureBytes {
    let filled = count
    return try bytes.prefix(filled)
  }
}
