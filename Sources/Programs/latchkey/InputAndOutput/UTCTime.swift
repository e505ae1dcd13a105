import Glibc

/// A moment as JSON has it, in UTC.
enum UTCTime {
  /// The time, as "2026-11-22T17:44:05Z".
  ///
  /// - Parameter seconds: since 1970. A file can have any number, so a time beyond any calendar is cut.
  static func text(_ seconds: UInt64) -> String {
    var (moment, parts) = (time_t(min(seconds, 1 << 40)), tm())
    gmtime_r(&moment, &parts)
    let date = [
      LocalTime.digits(Int(parts.tm_year) + 1900, 4), LocalTime.digits(Int(parts.tm_mon) + 1),
      LocalTime.digits(Int(parts.tm_mday)),
    ]
    let time = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { LocalTime.digits(Int($0)) }
    return date.joined(separator: "-") + "T" + time.joined(separator: ":") + "Z"
  }
}
