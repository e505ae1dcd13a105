@testable import LatchkeySystemd

extension MessageWriter {
  /// Appends a duplicate of the descriptor. The caller still owns the descriptor. Latchkey itself sends no descriptors, but
  /// stand-ins for other programs do.
  public mutating func appendUnixFD(_ value: Int32) { appendBasic("h", value) }
}
