import LatchkeyBackup
import LatchkeyControl

/// Asks what became of everything, a page at a time. The first one ends a restore: then it is done.
package struct GetArchiveReport: PageMessage {
  package typealias Answer = ArchivePage
  package static let operation: UInt8 = 15
  package let after: UInt64

  package init(after: UInt64) { self.after = after }
}

extension ControlClient {
  /// The report of the backup or restore. The first call ends a restore: it is then complete.
  package borrowing func archiveReport(until deadline: Int) throws(ControlError) -> ArchiveReport {
    try report(until: deadline) { GetArchiveReport(after: $0) }
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
