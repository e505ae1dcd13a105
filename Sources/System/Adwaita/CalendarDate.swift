import CLatchkeyAdwaita

/// Days and hours in the machine's time zone.
public enum CalendarDate {
  /// A moment, in seconds since 1970, as text in a form of strftime(3).
  public static func text(_ seconds: UInt64, _ form: String) -> String {
    guard let moment = g_date_time_new_from_unix_local(gint64(clamping: seconds)) else { return "?" }
    defer { g_date_time_unref(moment) }
    guard let text = g_date_time_format(moment, form) else { return "?" }
    defer { g_free(text) }
    return String(cString: text)
  }

  /// The seconds since 1970 of a moment in the form of ISO 8601; nil for anything else.
  public static func seconds(_ text: String) -> UInt64? {
    guard let moment = g_date_time_new_from_iso8601(text, nil) else { return nil }
    defer { g_date_time_unref(moment) }
    return UInt64(exactly: g_date_time_to_unix(moment))
  }
}
