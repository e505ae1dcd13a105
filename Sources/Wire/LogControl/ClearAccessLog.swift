import LatchkeyControl

/// Removes the entries of the access log. The answer is their number.
package struct ClearAccessLog: FieldlessMessage {
  package typealias Answer = UInt64
  package static let operation: UInt8 = 27
  package init() {}
}
