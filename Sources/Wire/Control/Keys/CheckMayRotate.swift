/// Asks whether keys could be rotated now. Declined if they could not.
package struct CheckMayRotate: FieldlessMessage {
  package typealias Answer = Done
  package static let operation: UInt8 = 22
  package init() {}
}
