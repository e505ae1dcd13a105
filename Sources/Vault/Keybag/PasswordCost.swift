import LatchkeyPosix
import LatchkeySodium

/// The cost of one try of a password: the Argon2id parameters of a protector (RFC 9106).
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

  /// The cost of a passphrase that is not the login's, which the daemon chooses and must not spend time on: 128 MiB where the
  /// machine has 4 GiB, else 64 MiB, three passes. Never copied from an existing file: a program that can write that file
  /// could make it cheap.
  public static var compiledIn: PasswordCost {
    PasswordCost(passes: minimum.passes, memory: Memory.total >= 4096 * mebibyte ? 2 * minimum.memory : minimum.memory)
  }

  /// The lowest cost of a new protector, on any machine.
  static let minimum = PasswordCost(passes: 3, memory: 64 * mebibyte)
  /// How long a new protector may take, in milliseconds, if it is above the minimum.
  static let ceiling = 1000.0
  /// How long a login may take, in milliseconds, before a person is told that this machine is too slow for its cost. A login
  /// waits for the helper for 3 s.
  static let timeout = 2000.0

  /// The cost that is measured: a part of a login's.
  private static let probe = PasswordCost(passes: 3, memory: 32 * mebibyte)

  /// The cost of a new protector of the login password on this machine, which is measured for that: some 60 ms on a fast
  /// one. No file, option or environment changes it.
  ///
  /// It counts what this thread computes, so other programs that want the processor hardly make it cheaper. A machine short of
  /// memory does: down to ``minimum``.
  public static func measured() -> PasswordCost {
    let begun = Process.threadTime
    let salt = [UInt8](repeating: 0, count: PasswordHash.saltSize)
    let isDone =
      (try? PasswordHash.derive(password: [0].span.bytes, salt: salt, passes: probe.passes, memory: probe.memory))
      != nil
    guard isDone else { return minimum }
    return fitting(speed: probe.speed(taking: Process.threadTime - begun), available: Memory.available)
  }

  /// The cost for a machine that takes so many milliseconds for one pass over one mebibyte: that of ``compiledIn`` where it can
  /// be had in time, else as much of it as can. More would double the time to unlock a screen, which a person waits for many
  /// times a day.
  ///
  /// - Parameter available: the memory that could be had, in bytes. A fifth of it is used at most: ``isAffordable`` asks for
  ///   a quarter, a moment later.
  static func fitting(speed: Double, available: UInt64) -> PasswordCost {
    var cost = compiledIn
    while cost.memory > minimum.memory, speed * cost.work > ceiling || cost.memory > available / 5 {
      cost = PasswordCost(passes: cost.passes, memory: cost.memory - step)
    }
    return cost
  }

  /// By how much the memory is less on slower machines.
  private static let step = 16 * mebibyte

  /// Milliseconds for one pass over one mebibyte, where a try took so many microseconds.
  func speed(taking microseconds: Int) -> Double {
    Double(max(microseconds, 1)) / 1000 / work
  }

  /// Whether this machine, on which a try took so many microseconds, is too slow for this cost, and would do with less.
  func isTooMuch(taking microseconds: Int) -> Bool {
    guard Double(microseconds) > PasswordCost.timeout * 1000 else { return false }
    return PasswordCost.fitting(speed: speed(taking: microseconds), available: .max).work < work
  }

  /// Passes times mebibytes, by which the time grows.
  private var work: Double { Double(passes) * Double(memory) / Double(PasswordCost.mebibyte) }

  /// Whether a cost found in a file is one that this program ever writes, or may write one day.
  public var isReasonable: Bool {
    (3...10).contains(passes)
      && (32 * PasswordCost.mebibyte...1024 * PasswordCost.mebibyte).contains(memory)
      && memory.isMultiple(of: 1024)
  }

  /// Whether the memory can be had without pressing everything else out: at most a quarter of what is available to the
  /// process and its control group.
  public var isAffordable: Bool { memory <= Memory.available / 4 }
}
