import LatchkeyBackup
import LatchkeyBytes
import LatchkeyControl

/// Asks what became of everything, a page at a time. The first one ends a restore: then it is done.
package struct GetArchiveReport: ControlMessage {
  package typealias Answer = ArchivePage
  package static let operation: UInt8 = 15
  /// How many lines are known already.
  package let after: UInt64

  package init(after: UInt64) { self.after = after }

  package init?(decoding input: inout ByteReader) {
    guard let line = UInt64(decoding: &input) else { return nil }
    after = line
  }

  package func encode(into out: inout ByteWriter) { out.number(after) }
}

extension ControlClient {
  /// What became of everything. The first call ends a restore: then it is done.
  package borrowing func archiveReport(until deadline: Int) throws(ControlError) -> ArchiveReport {
    var lines: [ArchiveReport.Line] = []
    while true {
      let page = try ask(GetArchiveReport(after: UInt64(lines.count)), until: deadline)
      lines += page.report.lines
      guard page.hasMore, !page.report.lines.isEmpty else {
        var report = page.report
        report.lines = lines
        return report
      }
    }
  }
}
