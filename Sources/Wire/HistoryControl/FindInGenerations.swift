import LatchkeyBytes
import LatchkeyControl

/// Begins to look for items in all generations, on this connection. The search ends with the connection.
/// ``GoThroughGeneration`` continues it, and ``GetFoundItems`` returns the items.
package struct FindInGenerations: ControlMessage, Equatable {
  package typealias Answer = Done
  package static let operation: UInt8 = 42
  package static let sizeLimit = ControlPacket.sizeLimit

  /// The numbers of wanted items that the vault has.
  package let present: [UInt64]
  /// The attributes or items that are wanted in addition.
  package let selection: GenerationSelection

  /// Makes a value from its parts.
  package init(present: [UInt64], selection: GenerationSelection) {
    (self.present, self.selection) = (present, selection)
  }

  package init?(decoding input: inout ByteReader) {
    guard let count = try? input.number(UInt16.self), count <= GenerationSelection.itemLimit else { return nil }
    var present: [UInt64] = []
    for _ in 0..<count {
      guard let number = UInt64(decoding: &input) else { return nil }
      present.append(number)
    }
    guard let selection = GenerationSelection(decoding: &input) else { return nil }
    self.init(present: present, selection: selection)
  }

  package func encode(into out: inout ByteWriter) {
    out.number(UInt16(clamping: present.count))
    for number in present { out.number(number) }
    selection.encode(into: &out)
  }
}
