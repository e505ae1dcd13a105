/// Why a call did not do what it was asked for: its result code.
package struct ItemFailure: Error, Hashable, Sendable {
  /// The code; never `errSecSuccess`.
  package let status: OSStatus

  package init(_ status: OSStatus) { self.status = status }

  /// Something that does not belong there, or contradicts something else.
  package static let parameter = ItemFailure(errSecParam)
}
