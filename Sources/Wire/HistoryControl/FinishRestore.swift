import LatchkeyBackup
import LatchkeyBackupControl
import LatchkeyControl

/// Writes what is restored, and asks what became of each item. Further ones ask for the other pages.
package struct FinishRestore: PageMessage {
  package typealias Answer = ArchivePage
  package static let operation: UInt8 = 41
  package let after: UInt64

  package init(after: UInt64) { self.after = after }
}

extension ControlClient {
  /// Writes what is restored. The outcome for each item.
  package borrowing func finishRestore(until deadline: Int) throws(ControlError) -> ArchiveReport {
    try report(until: deadline) { FinishRestore(after: $0) }
  }
}
