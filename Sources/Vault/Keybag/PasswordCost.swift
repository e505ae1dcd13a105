import LatchkeyPosix
import LatchkeySodium

/// The cost of one guess of a password: the Argon2id parameters of a protector (RFC 9106).
public struct PasswordCost: Equatable, Sendable {
  /// Passes over the memory: 3...10.
  public let passes: UInt32
  /// Memory in bytes: 32 MiB...1 GiB, a multiple of 1 KiB.
  public let memory: UInt64

  static let mebibyte: UInt64 = 1 << 20

  /// Puts passes and memory together. ``isReasonable`` and ``isAffordable`` say whether this cost may be used.
  public init(passes: UInt32, memory: UInt64) {
    self.passes = passes
    self.memory = memory
  }

  /// The cost of a passphrase other than the login password. The daemon chooses it, and must not spend time on a measurement. It is
  /// three passes over 128 MiB on a machine with at least 4 GiB, and otherwise over 64 MiB. It is never copied from an existing
  /// file: a program that can write that file could make the passphrase cheap to guess.
  public static var compiledIn: PasswordCost {
    PasswordCost(passes: minimum.passes, memory: Memory.total >= 4096 * mebibyte ? 2 * minimum.memory : minimum.memory)
  }

  /// The lowest cost of a new protector, on any machine.
  static let minimum = PasswordCost(passes: 3, memory: 64 * mebibyte)
  /// The longest time for a new protector whose cost is above the minimum, in milliseconds.
  static let ceiling = 1000.0
  /// If the check takes longer than this, in milliseconds, the person is told that this machine is too slow for the cost. A login
  /// waits 3 s for the helper.
  static let timeout = 2000.0

  /// The cost that the measurement runs with: a part of a login's.
  private static let probe = PasswordCost(passes: 3, memory: 32 * mebibyte)

  /// The cost of a new protector of the login password on this machine, found by a measurement, which takes some 60 ms on a fast
  /// machine. No file, option or environment changes it.
  ///
  /// The measurement counts the computing time of this thread, so busy programs hardly make the cost lower. A shortage of memory
  /// lowers the cost, but not below ``minimum``.
  public static func measured() -> PasswordCost {
    let begun = Process.threadTime
    let salt = [UInt8](repeating: 0, count: PasswordHash.saltSize)
    let isDone =
      (try? PasswordHash.derive(password: [0].span.bytes, salt: salt, passes: probe.passes, memory: probe.memory))
      != nil
    guard isDone else { return minimum }
    return fitting(speed: probe.speed(taking: Process.threadTime - begun), available: Memory.available)
  }

  /// The cost for a machine that takes `speed` milliseconds for one pass over one mebibyte. It is the cost of ``compiledIn``, or
  /// less if that would take longer than the limit. A higher cost would double the time to unlock a screen, for which a person
  /// waits many times a day.
  ///
  /// - Parameter available: the available memory, in bytes. At most a fifth of it is used, because a moment later
  ///   ``isAffordable`` allows a quarter.
  static func fitting(speed: Double, available: UInt64) -> PasswordCost {
    var cost = compiledIn
    while cost.memory > minimum.memory, speed * cost.work > ceiling || cost.memory > available / 5 {
      cost = PasswordCost(passes: cost.passes, memory: cost.memory - step)
    }
    return cost
  }

  /// The step by which the memory is reduced on slower machines.
  private static let step = 16 * mebibyte

  /// The milliseconds for one pass over one mebibyte, if one guess with this cost took the given number of microseconds.
  func speed(taking microseconds: Int) -> Double {
    Double(max(microseconds, 1)) / 1000 / work
  }

  /// Whether this machine is too slow for this cost, and would get a lower cost, if one guess took the given number of
  /// microseconds.
  func isTooMuch(taking microseconds: Int) -> Bool {
    guard Double(microseconds) > PasswordCost.timeout * 1000 else { return false }
    return PasswordCost.fitting(speed: speed(taking: microseconds), available: .max).work < work
  }

  /// Passes times mebibytes, by which the time grows.
  private var work: Double { Double(passes) * Double(memory) / Double(PasswordCost.mebibyte) }

  /// Whether the cost is within the bounds that a reader accepts from a file.
  public var isReasonable: Bool {
    (3...10).contains(passes)
      && (32 * PasswordCost.mebibyte...1024 * PasswordCost.mebibyte).contains(memory)
      && memory.isMultiple(of: 1024)
  }

  /// Whether the memory is available without displacing other programs: it is at most a quarter of the memory that the process and
  /// its control group can get.
  public var isAffordable: Bool { memory <= Memory.available / 4 }
}
