import LatchkeyBytes
import LatchkeyKeybag

/// Asks for the parameters with which a prompt's passphrase becomes a key.
package struct GetDerivation: ControlMessage {
  package typealias Answer = PassphraseDerivation
  package static let operation: UInt8 = 7
  /// The prompt's number.
  package let prompt: UInt64
  /// The moment at which the person gave the passphrase, in microseconds since the machine started.
  package let given: UInt64

  package init(prompt: UInt64, given: UInt64) { (self.prompt, self.given) = (prompt, given) }

  package init?(decoding input: inout ByteReader) {
    guard let prompt = UInt64(decoding: &input), let given = UInt64(decoding: &input) else { return nil }
    (self.prompt, self.given) = (prompt, given)
  }

  package func encode(into out: inout ByteWriter) {
    out.number(prompt)
    out.number(given)
  }
}

extension PassphraseDerivation: ControlFields {}
