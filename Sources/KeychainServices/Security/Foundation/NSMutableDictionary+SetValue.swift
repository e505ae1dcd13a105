public import Foundation

extension NSMutableDictionary {
  /// Sets the value of a key, or removes the key with nil.
  ///
  /// Apple's Foundation has this from key-value coding, which Linux's has not, and queries are built with it.
  public func setValue(_ value: Any?, forKey key: String) {
    if let value { self[key] = value } else { removeObject(forKey: key) }
  }
}
