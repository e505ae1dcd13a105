import LatchkeyControl

/// Asks for the differences, a page at a time. The daemon declines until it has compared all items.
package struct GetComparison: PageMessage {
  package typealias Answer = ComparisonPage
  package static let operation: UInt8 = 40
  package let after: UInt64

  package init(after: UInt64) { self.after = after }
}

extension ControlClient {
  /// Collects all pages, and returns all differences.
  package borrowing func comparison(until deadline: Int) throws(ControlError) -> ComparisonPage {
    var lines: [ComparisonPage.Line] = []
    while true {
      let page = try ask(GetComparison(after: UInt64(lines.count)), until: deadline)
      lines += page.lines
      guard page.hasMore, !page.lines.isEmpty else { return page.with(lines) }
    }
  }
}
