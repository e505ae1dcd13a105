import LatchkeyReasons
import LatchkeySodium

/// Why a backup cannot be read.
public enum BackupError: Error, Equatable, Sendable {
  /// The file is not a backup.
  case notABackup
  /// A later version of the format.
  case newer(UInt32)
  /// The first bytes of the file are damaged.
  case damagedHeader
  /// One guess of the passphrase would cost more than in any file of this program.
  case unreasonable
  /// The key is not derived from the backup's passphrase.
  case wrongPassphrase
  /// This chunk, counted from 1, is not the chunk that was written there.
  case damagedChunk(Int)
  /// Every chunk is intact, but the content is not a valid vault. The reason says what is wrong.
  case malformed(Reason)
  /// There was no memory for a secret.
  case outOfMemory

  static func sodium<Result: ~Copyable>(
    _ body: () throws(SodiumError) -> Result
  ) throws(BackupError) -> Result {
    do { return try body() } catch { throw .outOfMemory }
  }

  /// The damage, or another reason.
  public var reason: Reason {
    switch self {
    case .notABackup: .backup(.notBackup)
    case .newer(let version): .newerBackup(format: version)
    case .damagedHeader: .damagedWithin(bytes: BackupHeader.size)
    case .unreasonable: .backup(.costly)
    case .wrongPassphrase: .backup(.wrongPassphrase)
    case .damagedChunk(let number): .damagedChunk(number)
    case .malformed(let reason): .because(.backup(.unreadable), reason)
    case .outOfMemory: .backup(.noMemory)
    }
  }
}
