/// Why a call failed: its result code.
package struct ItemFailure: Error, Hashable, Sendable {
  /// The code; never `errSecSuccess`.
  package let status: OSStatus
  /// The cause, if the code does not show it; else nil.
  package let cause: FailureCause?

  package init(_ status: OSStatus, _ cause: FailureCause? = nil) {
    self.status = status
    self.cause = cause
  }

  /// A key or value that is not allowed there, or contradicts another one.
  package static let parameter = ItemFailure(errSecParam)

  /// The same failure, with the key whose value caused it if no other cause is known.
  func naming(_ key: String) -> ItemFailure {
    status == errSecParam && cause == nil ? ItemFailure(status, .invalidValue(key: key)) : self
  }
}
