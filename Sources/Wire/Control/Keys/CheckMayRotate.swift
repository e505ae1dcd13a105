/// Asks whether the keys can be rotated now. The daemon declines if they cannot.
package struct CheckMayRotate: FieldlessMessage {
  package typealias Answer = Done
  package static let operation: UInt8 = 22
  package init() {}
}
