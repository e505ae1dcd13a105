/// A generation of the vault: a copy of `vault.db` at one moment, as a file of its own.
public struct PastGeneration: Equatable, Sendable {
  /// The generation's number. A later generation has a higher number, even if the clock was set back.
  public let number: UInt32
  /// When the generation was made, in seconds since 1970, by the clock of that moment.
  public let time: UInt64
  /// The newest key epoch at that moment.
  public let epoch: UInt32
  /// The size of the generation's file in bytes, ``sizeLimit`` at most: a file can claim any size without having it.
  public let size: Int

  /// More than SQLite's largest database takes. No disk with less free space would have room for such a copy.
  static let sizeLimit = 1 << 48

  static let suffix = ".db"

  /// The name of the generation's file.
  var name: String { "\(number)-\(time)-\(epoch)\(Self.suffix)" }

  init(number: UInt32, time: UInt64, epoch: UInt32, size: Int) {
    (self.number, self.time, self.epoch, self.size) = (number, time, epoch, min(size, Self.sizeLimit))
  }

  /// Reads a file's name; nil unless it is a generation's.
  init?(name: String, size: Int) {
    guard name.hasSuffix(Self.suffix) else { return nil }
    let parts = name.dropLast(Self.suffix.count).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, let number = UInt32(parts[0]), let time = UInt64(parts[1]), let epoch = UInt32(parts[2])
    else {
      return nil
    }
    self.init(number: number, time: time, epoch: epoch, size: size)
    guard self.name == name else { return nil }
  }
}
