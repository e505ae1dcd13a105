public import Foundation

/// As a key of `[AnyHashable: Any]` a string object is the same as a Swift string with its text.
///
/// Apple's runtime sees to that; on Linux the two differ. A result cast to `[AnyHashable: Any]` has Swift strings as keys, so
/// `attributes[kSecAttrAccount]` would find nothing. There is no other way to hook into the comparison than this protocol,
/// which the standard library keeps for itself, and which holds for the whole process: two keys that Linux told apart,
/// `AnyHashable(NSString)` and `AnyHashable(String)`, are one wherever this library is linked, as they are on Apple's systems.
/// A mutable string is a key with the text that it has at that moment.
extension NSString: @retroactive _HasCustomAnyHashableRepresentation {
  // swift-format-ignore: NoLeadingUnderscores
  /// The string's text as a Swift string.
  public func _toCustomAnyHashable() -> AnyHashable? { AnyHashable(self as String) }
}
