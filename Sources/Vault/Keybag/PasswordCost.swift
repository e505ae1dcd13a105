import LatchkeyPosix

/// What one try of a password costs: the Argon2id parameters of a protector (RFC 9106).
public struct PasswordCost: Equatable, Sendable {
  /// Passes over the memory: 3...10.
  public let passes: UInt32
  /// Memory in bytes: 32 MiB...1 GiB, a multiple of 1 KiB.
  public let memory: UInt64

  static let mebibyte: UInt64 = 1 << 20

  /// Puts the two together; whether they may be used is ``isReasonable`` and ``isAffordable``.
  public init(passes: UInt32, memory: UInt64) {
    self.passes = passes
    self.memory = memory
  }

  /// The cost of a new protector: 128 MiB where the machine has 4 GiB, else 64 MiB, three passes. Never copied from an
  /// existing file: whoever can write that file could make it cheap. Twice as much would double the time to unlock a
  /// screen, which a person waits for many times a day.
  public static var compiledIn: PasswordCost {
    PasswordCost(passes: 3, memory: (Memory.total >= 4096 * mebibyte ? 128 : 64) * mebibyte)
  }

  /// Whether a cost found in a file is one that this program ever writes, or may write one day.
  public var isReasonable: Bool {
    (3...10).contains(passes) && (32 * PasswordCost.mebibyte...1024 * PasswordCost.mebibyte).contains(memory)
      && memory.isMultiple(of: 1024)
  }

  /// Whether the memory can be had without pressing everything else out: at most a quarter of what is available to the
  /// process and its control group.
  public var isAffordable: Bool { memory <= Memory.available / 4 }
}
