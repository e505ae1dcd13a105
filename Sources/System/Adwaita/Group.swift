import CLatchkeyAdwaita

/// Rows below a title.
public final class Group: Widget {
  private var rows: [Widget] = []

  /// A group without rows.
  public init(_ title: String = "", _ text: String = "") {
    super.init(adw_preferences_group_new())
    adw_preferences_group_set_title(cast(), escapedMarkup(title))
    adw_preferences_group_set_description(cast(), text.isEmpty ? nil : escapedMarkup(text))
  }

  /// Sets another title and text.
  public func setTitle(_ title: String, _ text: String = "") {
    adw_preferences_group_set_title(cast(), escapedMarkup(title))
    adw_preferences_group_set_description(cast(), text.isEmpty ? nil : escapedMarkup(text))
  }

  /// Adds a row at the end.
  public func append(_ row: Widget) {
    rows.append(row)
    adw_preferences_group_add(cast(), row.pointer)
  }

  /// Removes all rows.
  public func removeAll() {
    for row in rows { adw_preferences_group_remove(cast(), row.pointer) }
    rows = []
  }

  /// Removes a row.
  public func remove(_ row: Widget) {
    guard rows.contains(where: { $0 === row }) else { return }
    adw_preferences_group_remove(cast(), row.pointer)
    rows.removeAll { $0 === row }
  }

  /// Whether the group has no row.
  public var isEmpty: Bool { rows.isEmpty }
}
