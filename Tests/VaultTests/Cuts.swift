import Glibc

/// The file operations of a process. A test kills the process before each of them, one run after the other, until a run is
/// complete.
///
/// There are some hundred operations, and each needs a process, which takes minutes. Without LATCHKEY_EVERY_CASE, which the part
/// `damage` sets, the test takes every seventh operation.
enum Cuts {
  static let calls = stride(from: 1, through: Int.max, by: step)
  /// Whether a second cut after the first one is tested too.
  static func takes(_ call: Int) -> Bool { call.isMultiple(of: step) }
  /// How many cuts must have happened at least, in `every` operations. Fewer would mean that powercut.c saw nothing.
  static func enough(_ every: Int) -> Int { every / step }

  /// Whether a run takes every case of a test that takes minutes, such as a flip of each byte of a file, instead of a sample.
  static let each = getenv("LATCHKEY_EVERY_CASE") != nil
  private static let step = each ? 1 : 7
}
