/// Asks for the oldest key epoch that something in the vault depends on.
package struct GetNeededEpoch: FieldlessMessage {
  package typealias Answer = UInt32
  package static let operation: UInt8 = 23
  package init() {}
}
