import LatchkeyBytes
import LatchkeyKeybag

/// Tells the daemon how the prompt of this connection ended. This message has no answer.
package struct EndPrompt: ControlMessage {
  package typealias Answer = NoAnswer
  package static let operation: UInt8 = 6
  /// The end of the prompt.
  package let end: PromptEnd

  /// The ends that `latchkey-prompt` reports, in the order of their numbers in a packet. It never reports that something is
  /// unlocked.
  private static let told: [PromptEnd] = [.granted, .dismissed, .unavailable, .refused, .expired]

  /// Makes the message. An end that only the daemon can know is reported as ``PromptEnd/unavailable``.
  package init(_ end: PromptEnd) { self.end = end }

  package init?(decoding input: inout ByteReader) {
    guard let number = try? input.number(UInt8.self), number < EndPrompt.told.count else { return nil }
    end = EndPrompt.told[Int(number)]
  }

  package func encode(into out: inout ByteWriter) {
    out.number(UInt8(EndPrompt.told.firstIndex(of: end) ?? 2))
  }
}
