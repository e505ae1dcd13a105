import LatchkeyBytes
import LatchkeyControl
import LatchkeyReasons

/// A part of the list of generations, with the settings of the history.
package struct GenerationPage: ControlFields, Equatable, Sendable {
  /// A generation.
  package struct Line: Equatable, Sendable {
    /// The generation's number.
    package let number: UInt32
    /// The moment at which the generation was made, in seconds since 1970.
    package let time: UInt64
    /// The generation's size in bytes.
    package let size: UInt64
    /// The number of its items; 0 if the generation cannot be read.
    package let items: UInt64
    /// The reason why the generation cannot be read; nil if it can.
    package let problem: Reason?

    /// Makes a value from its parts.
    package init(number: UInt32, time: UInt64, size: UInt64, items: UInt64, problem: Reason?) {
      (self.number, self.time, self.size) = (number, time, size)
      (self.items, self.problem) = (items, problem)
    }
  }

  /// Whether the daemon makes generations.
  package let isOn: Bool
  /// The path of the settings file.
  package let settings: String
  /// The reason why the last generation was not made, or the error in the settings; nil if there is no problem.
  package let problem: Reason?
  /// The lines of this page, the newest generation first.
  package let lines: [Line]
  /// Whether older generations follow.
  package let hasMore: Bool

  /// The number of lines that fit into a packet, even with the longest texts.
  package static let lineLimit = 40
  private static let textLimit = 400
  private static let pathLimit = 4000

  /// Makes a value from its parts; lines beyond ``lineLimit`` are left out.
  package init(isOn: Bool, settings: String, problem: Reason?, lines: [Line], hasMore: Bool) {
    (self.isOn, self.settings, self.problem) = (isOn, settings, problem)
    self.lines = Array(lines.prefix(Self.lineLimit))
    self.hasMore = hasMore || lines.count > Self.lineLimit
  }

  private init(_ other: GenerationPage, all lines: [Line]) {
    (isOn, settings, problem) = (other.isOn, other.settings, other.problem)
    (self.lines, hasMore) = (lines, false)
  }

  /// The same page with other lines.
  func with(_ lines: [Line]) -> GenerationPage { GenerationPage(self, all: lines) }

  package func encode(into out: inout ByteWriter) {
    out.number(UInt8((hasMore ? 1 : 0) | (isOn ? 2 : 0)))
    out.text(settings, limit: Self.pathLimit)
    Reason.encode(problem, into: &out, limit: Self.textLimit)
    out.number(UInt8(lines.count))
    for line in lines {
      out.number(line.number)
      for number in [line.time, line.size, line.items] { out.number(number) }
      Reason.encode(line.problem, into: &out, limit: Self.textLimit)
    }
  }

  package init?(decoding input: inout ByteReader) {
    var lines: [Line] = []
    do {
      let flags = try input.number(UInt8.self)
      guard flags <= 3, let settings = input.text(limit: Self.pathLimit) else { return nil }
      let problem = try Reason.optional(decoding: &input)
      let count = try input.number(UInt8.self)
      guard count <= Self.lineLimit else { return nil }
      for _ in 0..<count {
        let number = try input.number(UInt32.self)
        let (time, size, items): (UInt64, UInt64, UInt64) = (try input.number(), try input.number(), try input.number())
        let problem = try Reason.optional(decoding: &input)
        lines.append(Line(number: number, time: time, size: size, items: items, problem: problem))
      }
      (isOn, hasMore) = (flags & 2 != 0, flags & 1 != 0)
      (self.settings, self.problem, self.lines) = (settings, problem, lines)
    } catch { return nil }
  }
}
