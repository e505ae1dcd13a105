import LatchkeyBackup
import LatchkeyBytes
import LatchkeyControl
import LatchkeyKeybag
import LatchkeyReasons

/// A part of a report: all its numbers, and as many of its lines as a packet has room for.
package struct ArchivePage: ControlFields, Equatable, Sendable {
  /// The report's numbers, and the lines of this page.
  package let report: ArchiveReport
  /// Whether more lines follow.
  package let hasMore: Bool

  private static let textLimit = 255
  /// The number of lines that fit into a packet, even with the longest texts.
  private static let lineLimit = 40

  /// The lines of `report` after the first `offset`.
  package init(of report: ArchiveReport, after offset: UInt64) {
    let rest = report.lines.dropFirst(Int(clamping: offset))
    var page = report
    page.lines = Array(rest.prefix(ArchivePage.lineLimit))
    self.report = page
    hasMore = rest.count > page.lines.count
  }

  package func encode(into out: inout ByteWriter) {
    out.number(UInt8(hasMore ? 1 : 0))
    for number in [
      report.items, report.added, report.same, report.replaced, report.conflicts, report.left, report.excluded,
    ] { out.number(number) }
    out.number(UInt8(report.lines.count))
    for line in report.lines {
      out.number(line.outcome.rawValue)
      out.number(line.accessibility?.rawValue ?? 0)
      for text in [line.collection, line.label] { out.text(text, limit: ArchivePage.textLimit) }
      Reason.encode(line.reason, into: &out, limit: ArchivePage.textLimit)
    }
  }

  package init?(decoding input: inout ByteReader) {
    var report = ArchiveReport()
    do {
      guard let more = try? input.number(UInt8.self), more <= 1 else { return nil }
      hasMore = more == 1
      report.items = try input.number()
      report.added = try input.number()
      report.same = try input.number()
      report.replaced = try input.number()
      report.conflicts = try input.number()
      report.left = try input.number()
      report.excluded = try input.number()
      for _ in 0..<(try input.number(UInt8.self)) {
        guard let outcome = ArchiveReport.Outcome(rawValue: try input.number()) else { return nil }
        let accessibility = AccessibilityClass(rawValue: try input.number())
        guard let collection = input.text(limit: ArchivePage.textLimit),
          let label = input.text(limit: ArchivePage.textLimit)
        else { return nil }
        let reason = try Reason.optional(decoding: &input)
        report.lines.append(
          .init(outcome, collection: collection, label: label, accessibility: accessibility, reason: reason))
      }
    } catch { return nil }
    self.report = report
  }
}
