import LatchkeyBytes
import LatchkeyControl
import LatchkeyKeybag
import LatchkeyReasons

/// A part of a comparison: all its numbers, and as many of its lines as fit into a packet.
package struct ComparisonPage: ControlFields, Equatable, Sendable {
  /// The change of an item since the generation.
  package enum Change: UInt8, Sendable {
    case deleted = 1
    case changed = 2
    case new = 3
  }

  /// An item that differs between the vault and the generation.
  package struct Line: Equatable, Sendable {
    /// The change.
    package let change: Change
    /// The item's number. If the item is no longer in the vault, this is its number in the generation.
    package let item: UInt64
    /// The number of the item's collection, by the same rule.
    package let collection: UInt64
    /// The label of the item's collection; empty if it cannot be read now.
    package let home: String
    /// The item's label; empty if it cannot be read now.
    package let label: String
    /// The item's class.
    package let accessibility: AccessibilityClass?
    /// The reason why the item cannot be brought back now; nil if it can.
    package let obstacle: Reason?

    /// Makes a value from its parts.
    package init(
      _ change: Change, item: UInt64, collection: UInt64, home: String, label: String,
      accessibility: AccessibilityClass?, obstacle: Reason?
    ) {
      (self.change, self.item, self.collection) = (change, item, collection)
      (self.home, self.label) = (home, label)
      (self.accessibility, self.obstacle) = (accessibility, obstacle)
    }
  }

  /// The number of the generation.
  package let number: UInt32
  /// The number of items that are the same.
  package let same: UInt64
  /// The number of damaged rows of the generation.
  package let damaged: UInt64
  /// The differences.
  package let lines: [Line]
  /// Whether more lines follow.
  package let hasMore: Bool

  private static let textLimit = 255
  /// The number of lines that fit into a packet, even with the longest texts.
  private static let lineLimit = 36

  /// A page with the lines after the first `offset` lines.
  package init(number: UInt32, same: UInt64, damaged: UInt64, all lines: [Line], after offset: UInt64) {
    (self.number, self.same, self.damaged) = (number, same, damaged)
    let rest = lines.dropFirst(Int(clamping: offset))
    self.lines = Array(rest.prefix(Self.lineLimit))
    hasMore = rest.count > self.lines.count
  }

  private init(_ other: ComparisonPage, all lines: [Line]) {
    (number, same, damaged) = (other.number, other.same, other.damaged)
    (self.lines, hasMore) = (lines, false)
  }

  /// The same page with other lines.
  func with(_ lines: [Line]) -> ComparisonPage { ComparisonPage(self, all: lines) }

  package func encode(into out: inout ByteWriter) {
    hasMore.encode(into: &out)
    out.number(number)
    out.number(same)
    out.number(damaged)
    out.number(UInt8(lines.count))
    for line in lines {
      out.number(line.change.rawValue)
      out.number(line.accessibility?.rawValue ?? 0)
      out.number(line.collection)
      out.number(line.item)
      for text in [line.home, line.label] { out.text(text, limit: Self.textLimit) }
      Reason.encode(line.obstacle, into: &out, limit: Self.textLimit)
    }
  }

  package init?(decoding input: inout ByteReader) {
    var lines: [Line] = []
    do {
      guard let hasMore = Bool(decoding: &input) else { return nil }
      let number = try input.number(UInt32.self)
      let (same, damaged): (UInt64, UInt64) = (try input.number(), try input.number())
      for _ in 0..<(try input.number(UInt8.self)) {
        guard let change = Change(rawValue: try input.number()) else { return nil }
        let accessibility = AccessibilityClass(rawValue: try input.number())
        let (collection, item): (UInt64, UInt64) = (try input.number(), try input.number())
        guard let home = input.text(limit: Self.textLimit), let label = input.text(limit: Self.textLimit) else {
          return nil
        }
        let obstacle = try Reason.optional(decoding: &input)
        lines.append(
          Line(
            change, item: item, collection: collection, home: home, label: label, accessibility: accessibility,
            obstacle: obstacle))
      }
      (self.hasMore, self.number, self.same, self.damaged, self.lines) = (hasMore, number, same, damaged, lines)
    } catch { return nil }
  }
}
