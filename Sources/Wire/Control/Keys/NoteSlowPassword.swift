import LatchkeyBytes

/// Tells how long the login password took to check, because this machine is too slow for its cost.
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
