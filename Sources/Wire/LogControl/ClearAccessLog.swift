import LatchkeyControl

/// Removes the entries of the access log; how many there were.
package struct ClearAccessLog: FieldlessMessage {
  package typealias Answer = UInt64
  package static let operation: UInt8 = 27
  package init() {}
}
