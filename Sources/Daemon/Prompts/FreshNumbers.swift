/// Numbers for objects of one run of the daemon. They start at random, because clients keep their connection when the
/// daemon is restarted: a number of the former run must not lead to another object.
public struct FreshNumbers {
  private var next: UInt64

  /// Begins at a random number of 61 bits, so two runs almost never share a number.
  public init() { next = UInt64.random(in: 1 << 61..<1 << 62) }

  /// A number that was not used before.
  public mutating func take() -> UInt64 {
    defer { next += 1 }
    return next
  }
}
