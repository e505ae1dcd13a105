import LatchkeyBackup
import LatchkeyControl

/// Ends a backup or a restore, which writes what it restores, and asks what became of everything. Further ones ask for the other pages.
package struct FinishArchive: PageMessage {
  package typealias Answer = ArchivePage
  package static let operation: UInt8 = 15
  package let after: UInt64

  package init(after: UInt64) { self.after = after }
}

extension ControlClient {
  /// Ends the backup or restore: a restore is written then. Its report.
  package borrowing func finishArchive(until deadline: Int) throws(ControlError) -> ArchiveReport {
    try report(until: deadline) { FinishArchive(after: $0) }
  }

  /// Every page of a report; `page` asks for the lines behind so many.
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
