import Foundation

/// The failure of the last call on each thread, because its code alone does not tell the cause.
enum LastFailure {
  private static let key = "org.latchkey.Security.LastFailure"

  /// The failure of this thread; nil if its last call succeeded.
  static var ofThread: ItemFailure? {
    get { Thread.current.threadDictionary[key] as? ItemFailure }
    set { Thread.current.threadDictionary[key] = newValue }
  }
}
