/// Why a call did not do what it was asked for: its result code.
package struct ItemFailure: Error, Hashable, Sendable {
  /// The code; never `errSecSuccess`.
  package let status: OSStatus
  /// What the code does not say; nil where it says enough.
  package let cause: FailureCause?

  package init(_ status: OSStatus, _ cause: FailureCause? = nil) {
    self.status = status
    self.cause = cause
  }

  /// Something that does not belong there, or contradicts something else.
  package static let parameter = ItemFailure(errSecParam)
}
