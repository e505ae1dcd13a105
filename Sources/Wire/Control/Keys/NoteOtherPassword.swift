/// Tells the daemon that PAM accepted a password that does not unlock the vault.
package struct NoteOtherPassword: FieldlessMessage {
  package typealias Answer = Done
  package static let operation: UInt8 = 28
  package init() {}
}
