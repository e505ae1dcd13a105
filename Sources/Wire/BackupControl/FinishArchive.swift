import LatchkeyBackup
import LatchkeyControl

/// Ends a backup or a restore, and asks for the first page of its report. A restore writes its items now. Further messages of this
/// type ask for the other pages.
package struct FinishArchive: PageMessage {
  package typealias Answer = ArchivePage
  package static let operation: UInt8 = 15
  package let after: UInt64

  package init(after: UInt64) { self.after = after }
}

extension ControlClient {
  /// Ends the backup or restore, and returns its report. A restore writes its items now.
  package borrowing func finishArchive(until deadline: Int) throws(ControlError) -> ArchiveReport {
    try report(until: deadline) { FinishArchive(after: $0) }
  }

  /// Collects all pages of a report. `page` makes the message that asks for the lines after a number of lines.
  package borrowing func report<Message: ControlMessage>(
    until deadline: Int, _ page: (UInt64) -> Message
  ) throws(ControlError) -> ArchiveReport where Message.Answer == ArchivePage {
    var lines: [ArchiveReport.Line] = []
    while true {
      let page = try ask(page(UInt64(lines.count)), until: deadline)
      lines += page.report.lines
      guard page.hasMore, !page.report.lines.isEmpty else {
        var report = page.report
        report.lines = lines
        return report
      }
    }
  }
}
