import LatchkeyBackup
import LatchkeyBackupControl
import LatchkeyControl

/// Writes the restored items, and asks for the first page of the report. Further messages of this type ask for the other pages.
package struct FinishRestore: PageMessage {
  package typealias Answer = ArchivePage
  package static let operation: UInt8 = 41
  package let after: UInt64

  package init(after: UInt64) { self.after = after }
}

extension ControlClient {
  /// Writes the restored items, and returns the report, which has the outcome for each item.
  package borrowing func finishRestore(until deadline: Int) throws(ControlError) -> ArchiveReport {
    try report(until: deadline) { FinishRestore(after: $0) }
  }
}
