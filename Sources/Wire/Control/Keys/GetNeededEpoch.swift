/// Asks for the oldest key epoch on which something in the vault depends.
package struct GetNeededEpoch: FieldlessMessage {
  package typealias Answer = UInt32
  package static let operation: UInt8 = 23
  package init() {}
}
