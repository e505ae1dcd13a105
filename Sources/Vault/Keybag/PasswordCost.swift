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

  /// The cost of a passphrase other than the login's. The daemon chooses it, and must not spend time on a measurement. It is 128
  /// MiB on a machine with 4 GiB, else 64 MiB, and three passes. It is never copied from an existing file: a program that can write
  /// that file could make the passphrase cheap to guess.
  public static var compiledIn: PasswordCost {
    PasswordCost(passes: minimum.passes, memory: Memory.total >= 4096 * mebibyte ? 2 * minimum.memory : minimum.memory)
  }

  /// The lowest cost of a new protector, on any machine.
  static let minimum = PasswordCost(passes: 3, memory: 64 * mebibyte)
  /// How long a new protector may take, in milliseconds, if its cost is above the minimum.
  static let ceiling = 1000.0
  /// How long a login may take, in milliseconds, before a person is told that this machine is too slow for its cost. A login
  /// waits for the helper for 3 s.
  static let timeout = 2000.0

  /// The cost that the measurement runs with: a part of a login's.
  private static let probe = PasswordCost(passes: 3, memory: 32 * mebibyte)

  /// The cost of a new protector of the login password on this machine, by a measurement that takes some 60 ms on a fast
  /// machine. No file, option or environment changes it.
  ///
  /// The measurement counts the computing time of this thread, so busy programs hardly make the cost lower. A shortage of
  /// memory does, down to ``minimum``.
  public static func measured() -> PasswordCost {
    let begun = Process.threadTime
    let salt = [UInt8](repeating: 0, count: PasswordHash.saltSize)
    let isDone =
      (try? PasswordHash.derive(password: [0].span.bytes, salt: salt, passes: probe.passes, memory: probe.memory))
      != nil
    guard isDone else { return minimum }
    return fitting(speed: probe.speed(taking: Process.threadTime - begun), available: Memory.available)
  }

  /// The cost for a machine that takes so many milliseconds for one pass over one mebibyte: the cost of ``compiledIn`` if that
  /// takes less than the limit, else as much of it as the limit allows. A higher cost would double the time to unlock a screen,
  /// for which a person waits many times a day.
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

  /// Milliseconds for one pass over one mebibyte, if one guess took so many microseconds.
  func speed(taking microseconds: Int) -> Double {
    Double(max(microseconds, 1)) / 1000 / work
  }

  /// Whether this machine is too slow for this cost, and would get a lower cost, if one guess took so many microseconds.
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

  /// Whether the memory is available without displacing everything else: at most a quarter of the memory that the process and
  /// its control group can get.
  public var isAffordable: Bool { memory <= Memory.available / 4 }
}
