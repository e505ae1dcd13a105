import LatchkeyBytes

/// Has a finger verified, in the place of the login password, for a prompt that this process shows. The answer comes after the touch:
/// then the vault is unlocked. Declined if it is not, or the prompt ends before. The prompt's own connection is another one.
package struct TouchReader: ControlMessage {
  package typealias Answer = Done
  package static let operation: UInt8 = 48
  /// The prompt's number.
  package let prompt: UInt64

  package init(prompt: UInt64) { self.prompt = prompt }

  package init?(decoding input: inout ByteReader) {
    guard let prompt = UInt64(decoding: &input) else { return nil }
    self.prompt = prompt
  }

  package func encode(into out: inout ByteWriter) { out.number(prompt) }
}
