/// Locks the vault now. The daemon declines if the login has no password.
package struct LockVault: FieldlessMessage {
  package typealias Answer = Done
  package static let operation: UInt8 = 4
  package init() {}
}
