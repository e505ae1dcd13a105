import LatchkeyBytes

/// Tells the daemon how long the check of the login password took. A slow machine needs too long for the cost that the keybag
/// demands.
package struct NoteSlowPassword: ControlMessage {
  package typealias Answer = Done
  package static let operation: UInt8 = 32
  package static let answerOperation = NoteOtherPassword.operation
  /// The time that the check took, in milliseconds.
  package let milliseconds: UInt32

  package init(milliseconds: UInt32) { self.milliseconds = milliseconds }

  package init?(decoding input: inout ByteReader) {
    guard let time = UInt32(decoding: &input) else { return nil }
    milliseconds = time
  }

  package func encode(into out: inout ByteWriter) { out.number(milliseconds) }
}
