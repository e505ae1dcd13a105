import LatchkeyBytes
import LatchkeyControl

/// Begins to remove items from all generations, on this connection. ``GoThroughGeneration`` continues it, and ``GetForgetting``
/// returns the result. The daemon declines while the vault has one of the items, which must be deleted first.
package struct ForgetEverywhere: ControlMessage, Equatable {
  package typealias Answer = Done
  package static let operation: UInt8 = 44
  package static let sizeLimit = ControlPacket.sizeLimit
  /// The uuids of the items, at least one: 16 bytes each.
  package let items: [[UInt8]]

  package init(items: [[UInt8]]) { self.items = items }

  package init?(decoding input: inout ByteReader) {
    guard input.remaining > 0, input.remaining % 16 == 0, input.remaining / 16 <= GenerationSelection.itemLimit else {
      return nil
    }
    var items: [[UInt8]] = []
    while let uuid = try? input.take(16) { items.append(uuid) }
    self.init(items: items)
  }

  package func encode(into out: inout ByteWriter) { for uuid in items { out.put(uuid) } }
}

/// Asks for the result of ``ForgetEverywhere``. The daemon declines until the work is done.
package struct GetForgetting: FieldlessMessage {
  package typealias Answer = Forgetting
  package static let operation: UInt8 = 45
  package init() {}
}

/// The result of ``ForgetEverywhere``.
package struct Forgetting: ControlFields, Equatable, Sendable {
  /// The number of generations that had one of the items.
  package let changed: UInt32
  /// The generations that cannot be read, and may still have the items.
  package let unreadable: [UInt32]

  /// Makes a value from its parts.
  package init(changed: UInt32, unreadable: [UInt32]) { (self.changed, self.unreadable) = (changed, unreadable) }

  package init?(decoding input: inout ByteReader) {
    guard let changed = UInt32(decoding: &input), let count = try? input.number(UInt16.self) else { return nil }
    var unreadable: [UInt32] = []
    for _ in 0..<count {
      guard let number = UInt32(decoding: &input) else { return nil }
      unreadable.append(number)
    }
    self.init(changed: changed, unreadable: unreadable)
  }

  package func encode(into out: inout ByteWriter) {
    out.number(changed)
    let some = unreadable.prefix(ControlPacket.messageLimit / 4)
    out.number(UInt16(clamping: some.count))
    for number in some { out.number(number) }
  }
}
