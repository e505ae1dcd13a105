@testable import LatchkeySystemd

extension MessageWriter {
  /// Appends a duplicate of the descriptor, which stays the caller's. Latchkey sends none; stand-ins for others do.
  public mutating func appendUnixFD(_ value: Int32) { appendBasic("h", value) }
}
