public import Foundation

extension NSMutableDictionary {
  /// Sets the value of a key. Nil removes the key.
  ///
  /// Apple's Foundation has this method as a part of key-value coding, and programs build queries with it. Linux's Foundation lacks
  /// it.
  public func setValue(_ value: Any?, forKey key: String) {
    if let value { self[key] = value } else { removeObject(forKey: key) }
  }
}
