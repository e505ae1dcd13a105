import LatchkeyBytes
import LatchkeyControl

/// Asks for the items that were found, a page at a time. The daemon declines until it has searched all generations.
package struct GetFoundItems: PageMessage {
  package typealias Answer = FoundItemsPage
  package static let operation: UInt8 = 43
  package let after: UInt64

  package init(after: UInt64) { self.after = after }
}

/// A part of the items that were found in generations.
package struct FoundItemsPage: ControlFields, Equatable, Sendable {
  /// A found item.
  package struct Line: Equatable, Sendable {
    /// The item's uuid: 16 bytes.
    package let uuid: [UInt8]
    /// Whether the vault has the item now. Then the other fields are empty.
    package let isPresent: Bool
    /// The number that the item had.
    package let item: UInt64
    /// The number of the item's collection.
    package let collection: UInt64
    /// The label of the item's collection; empty if it cannot be read now.
    package let home: String
    /// The item's label; empty if it cannot be read now.
    package let label: String

    /// Makes a value from its parts.
    package init(uuid: [UInt8], isPresent: Bool, item: UInt64, collection: UInt64, home: String, label: String) {
      (self.uuid, self.isPresent, self.item) = (uuid, isPresent, item)
      (self.collection, self.home, self.label) = (collection, home, label)
    }
  }

  /// The items.
  package let lines: [Line]
  /// Whether more items follow.
  package let hasMore: Bool

  private static let textLimit = 255
  /// The number of lines that fit into a packet, even with the longest texts.
  private static let lineLimit = 50

  /// A page with the lines after the first `offset` lines.
  package init(all lines: [Line], after offset: UInt64) {
    let rest = lines.dropFirst(Int(clamping: offset))
    self.lines = Array(rest.prefix(Self.lineLimit))
    hasMore = rest.count > self.lines.count
  }

  package func encode(into out: inout ByteWriter) {
    hasMore.encode(into: &out)
    out.number(UInt8(lines.count))
    for line in lines {
      out.put(line.uuid)
      line.isPresent.encode(into: &out)
      out.number(line.collection)
      out.number(line.item)
      for text in [line.home, line.label] { out.text(text, limit: Self.textLimit) }
    }
  }

  package init?(decoding input: inout ByteReader) {
    var lines: [Line] = []
    do {
      guard let hasMore = Bool(decoding: &input) else { return nil }
      for _ in 0..<(try input.number(UInt8.self)) {
        let uuid = try input.take(16)
        guard let isPresent = Bool(decoding: &input) else { return nil }
        let (collection, item): (UInt64, UInt64) = (try input.number(), try input.number())
        guard let home = input.text(limit: Self.textLimit), let label = input.text(limit: Self.textLimit) else {
          return nil
        }
        lines.append(
          Line(uuid: uuid, isPresent: isPresent, item: item, collection: collection, home: home, label: label))
      }
      (self.hasMore, self.lines) = (hasMore, lines)
    } catch { return nil }
  }
}

extension ControlClient {
  /// All found items.
  package borrowing func foundItems(until deadline: Int) throws(ControlError) -> [FoundItemsPage.Line] {
    var lines: [FoundItemsPage.Line] = []
    while true {
      let page = try ask(GetFoundItems(after: UInt64(lines.count)), until: deadline)
      lines += page.lines
      guard page.hasMore, !page.lines.isEmpty else { return lines }
    }
  }
}
