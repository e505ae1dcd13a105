import LatchkeyText

/// Why a backup cannot be read.
public enum BackupReason: String, ReasonGroup {
  case notBackup, costly, wrongPassphrase, unreadable, noMemory, endsWithinRecord, dataBehindEnd, unknownRecord
  case recordTooLarge, outOfOrder, wrongCount, malformed

  package static let name = "backup"

  package var phrase: Phrase {
    switch self {
    case .notBackup: Phrase("the file is not a backup of a vault")
    case .costly:
      Phrase("deriving the key from the backup's passphrase needs more memory or time than this program allows")
    case .wrongPassphrase: Phrase("that is not the backup's passphrase")
    case .unreadable: Phrase("the backup is whole, but cannot be read")
    case .noMemory: Phrase("there is not enough memory")
    case .endsWithinRecord: Phrase("it ends within a record")
    case .dataBehindEnd: Phrase("there is data behind its end")
    case .unknownRecord: Phrase("a record of an unknown kind")
    case .recordTooLarge: Phrase("a record is too large for a vault")
    case .outOfOrder: Phrase("its records are out of order")
    case .wrongCount: Phrase("its number of items is wrong")
    case .malformed: Phrase("a record is malformed")
    }
  }
}
