import LatchkeyBackup
import LatchkeyBackupControl
import LatchkeyControl

/// Asks what became of each item, a page at a time. The first one writes: then it is done.
package struct GetRestoreReport: PageMessage {
  package typealias Answer = ArchivePage
  package static let operation: UInt8 = 41
  package let after: UInt64

  package init(after: UInt64) { self.after = after }
}

extension ControlClient {
  /// The outcome for each item. The first call writes: the restore is then complete.
  package borrowing func restoreReport(until deadline: Int) throws(ControlError) -> ArchiveReport {
    try report(until: deadline) { GetRestoreReport(after: $0) }
  }
}
