import LatchkeyBytes
import LatchkeyControl

/// Begins to bring items back from a generation, on this connection. The restore ends with the connection. ``GoThroughGeneration``
/// continues it, and ``FinishRestore`` writes the items.
package struct RestoreFromGeneration: ControlMessage, Equatable {
  package typealias Answer = Done
  package static let operation: UInt8 = 38
  package static let sizeLimit = ControlPacket.sizeLimit

  /// The number of the generation.
  package let number: UInt32
  /// Whether an item that was changed after the generation gets its former state.
  package let takesTheirs: Bool
  /// Whether this is a rehearsal: the daemon reports what would come back, and writes nothing.
  package let isDry: Bool
  /// The items to restore.
  package let selection: GenerationSelection

  /// Makes a value from its parts.
  package init(number: UInt32, takesTheirs: Bool, isDry: Bool, selection: GenerationSelection) {
    (self.number, self.takesTheirs, self.isDry) = (number, takesTheirs, isDry)
    self.selection = selection
  }

  package init?(decoding input: inout ByteReader) {
    guard let number = UInt32(decoding: &input), let flags = try? input.number(UInt8.self), flags <= 3,
      let selection = GenerationSelection(decoding: &input)
    else { return nil }
    self.init(number: number, takesTheirs: flags & 1 != 0, isDry: flags & 2 != 0, selection: selection)
  }

  package func encode(into out: inout ByteWriter) {
    out.number(number)
    out.number(UInt8(takesTheirs ? 1 : 0) | UInt8(isDry ? 2 : 0))
    selection.encode(into: &out)
  }
}
