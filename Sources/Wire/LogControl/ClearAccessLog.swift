import LatchkeyControl

/// Removes the entries of the access log. The answer is the number of removed entries.
package struct ClearAccessLog: FieldlessMessage {
  package typealias Answer = UInt64
  package static let operation: UInt8 = 27
  package init() {}
}
