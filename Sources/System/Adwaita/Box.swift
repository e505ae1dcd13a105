import CLatchkeyAdwaita

/// Widgets in a row or a column.
public final class Box: Widget {
  /// Whether the widgets stand below or beside each other.
  public enum Direction { case column, row }

  /// A box with these widgets.
  public init(_ direction: Direction, spacing: Int32 = 0, _ children: Widget...) {
    super.init(gtk_box_new(direction == .column ? GTK_ORIENTATION_VERTICAL : GTK_ORIENTATION_HORIZONTAL, spacing))
    for child in children { append(child) }
  }

  /// Adds a widget at the end.
  public func append(_ child: Widget) {
    keep(child)
    gtk_box_append(cast(), child.pointer)
  }
}

/// An area whose content scrolls up and down, or sideways.
public final class ScrolledArea: Widget {
  /// An area around `child`.
  public init(_ child: Widget, scrollsSideways: Bool = false) {
    super.init(gtk_scrolled_window_new())
    keep(child)
    gtk_scrolled_window_set_child(opaque, child.pointer)
    gtk_scrolled_window_set_policy(
      opaque, scrollsSideways ? GTK_POLICY_AUTOMATIC : GTK_POLICY_NEVER,
      scrollsSideways ? GTK_POLICY_NEVER : GTK_POLICY_AUTOMATIC)
    expanding(horizontally: true, vertically: !scrollsSideways)
  }
}

/// An area whose content gets no wider than a person can read.
public final class Clamp: Widget {
  /// An area around `child`.
  public init(_ child: Widget) {
    super.init(adw_clamp_new())
    keep(child)
    adw_clamp_set_child(opaque, child.pointer)
    adw_clamp_set_maximum_size(opaque, 720)
  }
}

/// A line between two panes.
public final class Separator: Widget {
  /// A line from top to bottom.
  public init() { super.init(gtk_separator_new(GTK_ORIENTATION_VERTICAL)) }
}
