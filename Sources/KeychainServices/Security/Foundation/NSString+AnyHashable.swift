public import Foundation

/// As a key of `[AnyHashable: Any]` a string object is the same as a Swift string with its text.
///
/// Apple's runtime sees to that; on Linux the two differ. A result cast to `[AnyHashable: Any]` has Swift strings as keys, so
/// `attributes[kSecAttrAccount]` would find nothing. Only this protocol reaches the comparison, although the standard library
/// keeps it for itself. It holds for the whole process: `AnyHashable(NSString)` and `AnyHashable(String)`, which Linux told
/// apart, are one key wherever this library is linked, as on Apple's systems. A mutable string is a key with the text that it
/// has at that moment.
extension NSString: @retroactive _HasCustomAnyHashableRepresentation {
  // swift-format-ignore: NoLeadingUnderscores
  /// The string's text as a Swift string.
  public func _toCustomAnyHashable() -> AnyHashable? { AnyHashable(self as String) }
}
