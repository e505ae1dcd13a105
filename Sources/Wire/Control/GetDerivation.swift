import LatchkeyBytes
import LatchkeyKeybag

/// Asks how the passphrase for a prompt becomes a key.
package struct GetDerivation: ControlMessage {
  package typealias Answer = PassphraseDerivation
  package static let operation: UInt8 = 7
  /// The prompt's number.
  package let prompt: UInt64

  package init(prompt: UInt64) { self.prompt = prompt }

  package init?(decoding input: inout ByteReader) {
    guard let number = UInt64(decoding: &input) else { return nil }
    prompt = number
  }

  package func encode(into out: inout ByteWriter) { out.number(prompt) }
}

extension PassphraseDerivation: ControlFields {}
