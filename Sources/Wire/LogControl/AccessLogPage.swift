import LatchkeyAccessEvent
import LatchkeyBytes
import LatchkeyControl

/// A part of the access log, newest first.
public struct AccessLogPage: ControlFields, Equatable, Sendable {
  /// The number of lines that fit into a packet, even with the longest texts.
  public static let limit = 40

  /// The entries.
  public let lines: [AccessLogEntry]
  /// Whether older entries follow.
  public let hasMore: Bool

  /// Puts them together; lines beyond ``limit`` are left out.
  public init(lines: [AccessLogEntry], hasMore: Bool) {
    self.lines = Array(lines.prefix(AccessLogPage.limit))
    self.hasMore = hasMore || lines.count > AccessLogPage.limit
  }

  package func encode(into out: inout ByteWriter) {
    out.number(UInt8(hasMore ? 1 : 0))
    out.number(UInt8(lines.count))
    for line in lines {
      out.number(line.number)
      out.number(line.created)
      out.number(line.missing)
      out.number(UInt8(line.event == nil ? 1 : 0))
      line.event?.encode(into: &out)
    }
  }

  package init?(decoding input: inout ByteReader) {
    var lines: [AccessLogEntry] = []
    do {
      let more = try input.number(UInt8.self)
      let count = try input.number(UInt8.self)
      guard more <= 1, count <= AccessLogPage.limit else { return nil }
      for _ in 0..<count {
        let (number, created, missing): (UInt64, UInt64, UInt64) =
          (try input.number(), try input.number(), try input.number())
        let bits = try input.number(UInt8.self)
        guard bits <= 1 else { return nil }
        var event: AccessEvent?
        if bits == 0 {
          event = AccessEvent(decoding: &input)
          if event == nil { return nil }
        }
        lines.append(
          AccessLogEntry(number: number, created: created, event: event, missing: missing))
      }
      hasMore = more == 1
    } catch { return nil }
    self.lines = lines
  }
}
