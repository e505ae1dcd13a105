import Glibc

/// A day, or a moment in UTC, in the forms that people and exports write.
public enum CalendarTime {
  /// Seconds since 1970 of "2026-11-22" or "2026-11-22T17:44:05Z"; nil for another form.
  public static func seconds(_ text: String) -> UInt64? {
    let parts = text.split(separator: "T", omittingEmptySubsequences: false)
    guard parts.count <= 2, let date = numbers(parts[0], "-", [4, 2, 2]) else { return nil }
    var moment = tm()
    (moment.tm_year, moment.tm_mon, moment.tm_mday) = (date[0] - 1900, date[1] - 1, date[2])
    if parts.count == 2 {
      guard parts[1].hasSuffix("Z"), let clock = numbers(parts[1].dropLast().prefix(8), ":", [2, 2, 2]) else {
        return nil
      }
      (moment.tm_hour, moment.tm_min, moment.tm_sec) = (clock[0], clock[1], clock[2])
    }
    let given = (moment.tm_year, moment.tm_mon, moment.tm_mday)
    let seconds = timegm(&moment)
    // timegm() turns a 31st of February into a day of March.
    guard seconds >= 0, given == (moment.tm_year, moment.tm_mon, moment.tm_mday) else { return nil }
    return UInt64(seconds)
  }

  private static func numbers(_ text: Substring, _ separator: Character, _ digits: [Int]) -> [Int32]? {
    let words = text.split(separator: separator, omittingEmptySubsequences: false)
    guard words.map(\.utf8.count) == digits else { return nil }
    let numbers = words.compactMap { word in word.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int32(word) : nil }
    return numbers.count == digits.count ? numbers : nil
  }
}
