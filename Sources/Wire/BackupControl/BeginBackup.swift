import LatchkeyControl

/// Begins a backup on this connection. The backup ends with the connection. The answer is the number of the prompt for the
/// passphrase.
package struct BeginBackup: FieldlessMessage {
  package typealias Answer = UInt64
  package static let operation: UInt8 = 11
  package init() {}
}
