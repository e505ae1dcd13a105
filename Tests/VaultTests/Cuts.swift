import Glibc

/// The file operations of a process in front of which a test kills it, one after the other, until it comes to its end.
///
/// There are some hundred operations, and a process for each: minutes. Without LATCHKEY_EVERY_BYTE, which the part `damage`
/// sets, it is every fifth operation.
enum Cuts {
  static let calls = stride(from: 1, through: Int.max, by: step)
  /// Whether a second cut, after a first one, is among them.
  static func takes(_ call: Int) -> Bool { call.isMultiple(of: step) }
  /// At least so many cuts of `every` must have happened: fewer would mean that the shim saw nothing.
  static func enough(_ every: Int) -> Int { every / step }

  /// Whether every case is wanted that takes long.
  static let each = getenv("LATCHKEY_EVERY_BYTE") != nil
  private static let step = each ? 1 : 5
}
