import LatchkeyBytes

/// Destroys the items that depend on the login's password; how many there were. Declined where the device key cannot be had:
/// nothing was destroyed then.
package struct DestroyPasscodeItems: ControlMessage {
  package typealias Answer = UInt64
  package static let operation: UInt8 = 25
  /// Whether the login has no password any more; else there may be new ones at once.
  package let passwordRemoved: Bool

  package init(passwordRemoved: Bool) { self.passwordRemoved = passwordRemoved }

  package init?(decoding input: inout ByteReader) {
    guard let removed = Bool(decoding: &input) else { return nil }
    passwordRemoved = removed
  }

  package func encode(into out: inout ByteWriter) { passwordRemoved.encode(into: &out) }
}
