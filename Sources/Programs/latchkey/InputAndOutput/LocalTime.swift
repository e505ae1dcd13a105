import Glibc

/// A moment in the machine's time zone, as lists show it.
struct LocalTime {
  private let parts: tm

  /// - Parameter seconds: since 1970.
  init(_ seconds: UInt64) {
    var (moment, parts) = (time_t(clamping: seconds), tm())
    localtime_r(&moment, &parts)
    self.parts = parts
  }

  /// The time, as "2026-11-22 17:44".
  var minute: String {
    let date = [
      Self.digits(Int(parts.tm_year) + 1900, 4), Self.digits(Int(parts.tm_mon) + 1), Self.digits(Int(parts.tm_mday)),
    ]
    return date.joined(separator: "-") + " " + Self.digits(Int(parts.tm_hour)) + ":" + Self.digits(Int(parts.tm_min))
  }

  /// The time, as "2026-11-22 17:44:05".
  var second: String { minute + ":" + Self.digits(Int(parts.tm_sec)) }

  static func digits(_ number: Int, _ count: Int = 2) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.count)) + text
  }
}
