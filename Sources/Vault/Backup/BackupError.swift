import LatchkeySodium

/// Why a backup cannot be read.
public enum BackupError: Error, Equatable, Sendable {
  /// The file is something else.
  case notABackup
  /// A later version of the format.
  case newer(UInt32)
  /// The first bytes of the file are damaged.
  case damagedHeader
  /// One guess of the passphrase would cost more than in any file of this program.
  case unreasonable
  /// The key is not that of the backup's passphrase.
  case wrongPassphrase
  /// This chunk, counted from 1, is not the one that was written there.
  case damagedChunk(Int)
  /// Every chunk is as it was written, but the content is not a vault's; the text says what is wrong.
  case malformed(String)
  /// Memory for a secret could not be had.
  case outOfMemory

  static func sodium<Result: ~Copyable>(
    _ body: () throws(SodiumError) -> Result
  ) throws(BackupError) -> Result {
    do { return try body() } catch { throw .outOfMemory }
  }

  /// For a person.
  public var explanation: String {
    switch self {
    case .notABackup: "the file is not a backup of a vault"
    case .newer(let version): "the backup has format \(version), which is newer than this program"
    case .damagedHeader: "the backup is damaged within its first \(BackupHeader.size) bytes"
    case .unreasonable: "the backup's passphrase costs more than this program accepts"
    case .wrongPassphrase: "that is not the backup's passphrase"
    case .damagedChunk(let number): "the backup is damaged in chunk \(number)"
    case .malformed(let text): "the backup is whole, but cannot be read: \(text)"
    case .outOfMemory: "there is not enough memory"
    }
  }
}
