/// Tells that a password which PAM accepted does not open the vault.
package struct NoteOtherPassword: FieldlessMessage {
  package typealias Answer = Done
  package static let operation: UInt8 = 28
  package init() {}
}
