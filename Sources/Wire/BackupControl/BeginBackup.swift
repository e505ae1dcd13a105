import LatchkeyControl

/// Begins a backup on this connection, whose end is the backup's: the number of the prompt that the passphrase answers.
package struct BeginBackup: FieldlessMessage {
  package typealias Answer = UInt64
  package static let operation: UInt8 = 11
  package init() {}
}
