import LatchkeyBytes

/// Takes a prompt on: from now on this connection shows it, and the end of the connection is its end. Declined where nobody
/// waits for it, or it is shown already.
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
