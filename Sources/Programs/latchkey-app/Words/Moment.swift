import LatchkeyAdwaita

/// A moment in the machine's time zone.
struct Moment {
  /// As in "2026-11-22 17:44", which is the form of the command line.
  static func text(_ seconds: UInt64) -> String {
    seconds == 0 ? "?" : CalendarDate.text(seconds, "%F %R")
  }

  /// The same for a moment as `--json` has it, such as "2026-11-22T17:44:00Z".
  static func text(_ json: String) -> String {
    CalendarDate.seconds(json).map { text($0) } ?? ShownText.name(json)
  }
}
