import LatchkeyAccessEvent
import LatchkeyBytes
import LatchkeyControl

/// Asks for the entries of the access log with lower numbers than this one, newest first. The daemon declines while the vault is
/// locked.
package struct GetAccessLog: ControlMessage {
  package typealias Answer = AccessLogPage
  package static let operation: UInt8 = 26
  /// The number; 0 asks for the newest entries.
  package let below: UInt64

  package init(below: UInt64) { self.below = below }

  package init?(decoding input: inout ByteReader) {
    guard let number = UInt64(decoding: &input) else { return nil }
    below = number
  }

  package func encode(into out: inout ByteWriter) { out.number(below) }
}

extension ControlClient {
  /// The newest entries of the access log, at most `limit`. The newest comes first.
  ///
  /// - Throws: ``ControlError/declined(_:)`` while the vault is locked.
  package borrowing func accessLog(limit: Int, until deadline: Int) throws(ControlError) -> [AccessLogEntry] {
    var lines: [AccessLogEntry] = []
    while lines.count < limit {
      let page = try ask(GetAccessLog(below: lines.last?.number ?? 0), until: deadline)
      lines += page.lines
      // If somebody has changed the numbers so that they grow, reading stops.
      guard page.hasMore, let last = page.lines.last, last.number > 0, last.number <= UInt64(Int64.max) else { break }
    }
    return Array(lines.prefix(limit))
  }
}
