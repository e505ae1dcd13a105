import Foundation

/// The last call on each thread, where it failed: its code alone does not tell why.
enum LastFailure {
  private static let key = "org.latchkey.Security.LastFailure"

  /// That of this thread; nil where its last call worked.
  static var ofThread: ItemFailure? {
    get { Thread.current.threadDictionary[key] as? ItemFailure }
    set { Thread.current.threadDictionary[key] = newValue }
  }
}
