import LatchkeyAdwaita

/// A moment in the machine's time zone.
struct Moment {
  /// As in "2026-11-22 17:44", which is the form of the command line.
  static func text(_ seconds: UInt64) -> String {
    let text = seconds == 0 ? "?" : CalendarDate.text(seconds, "%F %R")
    // Behind Arabic letters, the day would come before the month and the year.
    return ShownText.isRightToLeft ? "\u{2066}\(text)\u{2069}" : text
  }

  /// The text for a moment in the form of `--json`, such as "2026-11-22T17:44:00Z".
  static func text(_ json: String) -> String {
    CalendarDate.seconds(json).map { text($0) } ?? ShownText.name(json)
  }
}
