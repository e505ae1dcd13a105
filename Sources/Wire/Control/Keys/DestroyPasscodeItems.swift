import LatchkeyBytes

/// Destroys the items that depend on the login's password. The answer is their number. If the device key is not available, the
/// daemon declines and destroys nothing.
package struct DestroyPasscodeItems: ControlMessage {
  package typealias Answer = UInt64
  package static let operation: UInt8 = 25
  /// Whether the login has no password any more. If it has one, new items of this class may be stored at once.
  package let passwordRemoved: Bool

  package init(passwordRemoved: Bool) { self.passwordRemoved = passwordRemoved }

  package init?(decoding input: inout ByteReader) {
    guard let removed = Bool(decoding: &input) else { return nil }
    passwordRemoved = removed
  }

  package func encode(into out: inout ByteWriter) { passwordRemoved.encode(into: &out) }
}
