import LatchkeyBytes

/// Takes over a prompt. From now on this connection shows the prompt, and the prompt ends with the connection. The daemon declines
/// if nobody waits for the prompt, or if it is already shown.
package struct ShowPrompt: ControlMessage {
  package typealias Answer = PromptRequest
  package static let operation: UInt8 = 5
  /// The prompt's number.
  package let number: UInt64

  package init(_ number: UInt64) { self.number = number }

  package init?(decoding input: inout ByteReader) {
    guard let number = UInt64(decoding: &input) else { return nil }
    self.number = number
  }

  package func encode(into out: inout ByteWriter) { out.number(number) }
}
