/// The failure of a call: its result code and perhaps the cause.
package struct ItemFailure: Error, Hashable, Sendable {
  /// The code; never `errSecSuccess`.
  package let status: OSStatus
  /// The cause, if the code does not show it; otherwise nil.
  package let cause: FailureCause?

  package init(_ status: OSStatus, _ cause: FailureCause? = nil) {
    self.status = status
    self.cause = cause
  }

  /// A key or value is not allowed, or contradicts another one.
  package static let parameter = ItemFailure(errSecParam)

  /// The same failure. If no cause is known, the cause is that this key has a wrong value.
  func naming(_ key: String) -> ItemFailure {
    status == errSecParam && cause == nil ? ItemFailure(status, .invalidValue(key: key)) : self
  }
}
