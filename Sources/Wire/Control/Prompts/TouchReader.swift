import LatchkeyBytes

/// Has a finger verified instead of the login password, for a prompt that this process shows. The answer comes after the touch,
/// when the vault is unlocked. The daemon declines if the vault stays locked, or if the prompt ends before. The process sends this
/// on another connection than the prompt's.
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
