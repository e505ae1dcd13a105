import LatchkeyAdwaita

/// A moment in the machine's time zone.
struct Moment {
  /// The moment in the form of the command line, such as "2026-11-22 17:44".
  static func text(_ seconds: UInt64) -> String {
    let text = seconds == 0 ? "?" : CalendarDate.text(seconds, "%F %R")
    // Isolates the date: after Arabic letters, the day would otherwise be shown before the month and the year.
    return ShownText.isRightToLeft ? "\u{2066}\(text)\u{2069}" : text
  }

  /// The same text for a moment in the form that `--json` writes, such as "2026-11-22T17:44:00Z".
  static func text(_ json: String) -> String {
    CalendarDate.seconds(json).map { text($0) } ?? ShownText.name(json)
  }
}
