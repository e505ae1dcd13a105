import Glibc

/// The waiting times of tests on this machine. A limit in a test turns a hang into a message, and does not say how fast anything
/// must be. Tests/support/pace.py has the same limits for Python.
public enum Pace {
  /// A time limit for an action that takes less than `usual` on a quiet machine. It grows with the number of processes that want a
  /// processor.
  public static func limit(_ usual: Duration) -> Duration { usual * (3 + waiting) }

  /// The number of processes for each processor, now or in the last minute.
  private static var waiting: Double {
    guard let file = fopen("/proc/loadavg", "re") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 128)
    guard fgets(&line, Int32(line.count), file) != nil else { return 0 }
    let words = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self).split(
      separator: " ")
    guard words.count > 3, let minute = Double(words[0]), let running = Double(words[3].prefix { $0 != "/" }) else {
      return 0
    }
    return max(minute, running) / Double(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1))
  }
}
