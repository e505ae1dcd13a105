public import Foundation

/// Makes a string object equal to a Swift string with the same text, as a key of `[AnyHashable: Any]`.
///
/// Apple's runtime does this, but on Linux the two differ. A result that is cast to `[AnyHashable: Any]` has Swift strings as keys,
/// so `attributes[kSecAttrAccount]` would find nothing. Only this protocol can change the comparison, although it is internal to
/// the standard library. The change applies to the whole process that links this library: `AnyHashable(NSString)` and
/// `AnyHashable(String)` are then one key, as on Apple's systems. A mutable string counts with its present text.
extension NSString: @retroactive _HasCustomAnyHashableRepresentation {
  // swift-format-ignore: NoLeadingUnderscores
  /// The string's text as a Swift string.
  public func _toCustomAnyHashable() -> AnyHashable? { AnyHashable(self as String) }
}
