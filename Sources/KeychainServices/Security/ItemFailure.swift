/// Why a call did not do what it was asked for: its result code.
package struct ItemFailure: Error, Hashable, Sendable {
  /// The code; never `errSecSuccess`.
  package let status: OSStatus
  /// The cause that the code does not tell; nil if the code is enough.
  package let cause: FailureCause?

  package init(_ status: OSStatus, _ cause: FailureCause? = nil) {
    self.status = status
    self.cause = cause
  }

  /// Something that does not belong there, or contradicts something else.
  package static let parameter = ItemFailure(errSecParam)

  /// The same failure, with the key whose value caused it if no other cause is known.
  func naming(_ key: String) -> ItemFailure {
    status == errSecParam && cause == nil ? ItemFailure(status, .invalidValue(key: key)) : self
  }
}
