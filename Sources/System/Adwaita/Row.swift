import CLatchkeyAdwaita

/// A row that one widget fills.
public final class WideRow: Widget {
  /// A row with this content.
  ///
  /// - Parameter name: the row's name for screen readers.
  public init(_ content: Widget, name: String) {
    super.init(adw_preferences_row_new())
    keep(content.margins(8, 12))
    gtk_list_box_row_set_child(cast(), content.pointer)
    gtk_list_box_row_set_activatable(cast(), 0)
    named(name)
  }
}

/// A row with a title, a text below it, and buttons at its end.
public final class Row: Widget {
  /// A row without buttons, which cannot be pressed.
  public init(_ title: String, _ text: String = "") {
    super.init(adw_action_row_new())
    adw_preferences_row_set_use_markup(cast(), 0)
    adw_preferences_row_set_title(cast(), title)
    adw_action_row_set_subtitle(cast(), text)
    adw_action_row_set_title_lines(cast(), 0)
    adw_action_row_set_subtitle_lines(cast(), 0)
  }

  /// The text below the title.
  public func setText(_ text: String) { adw_action_row_set_subtitle(cast(), text) }

  /// Puts a widget at the row's end.
  @discardableResult
  public func adding(_ child: Widget) -> Self {
    keep(child)
    adw_action_row_add_suffix(cast(), child.pointer)
    return self
  }

  /// Puts a symbol at the row's beginning.
  @discardableResult
  public func beginning(_ symbol: Symbol) -> Self {
    keep(symbol)
    adw_action_row_add_prefix(cast(), symbol.pointer)
    return self
  }
}
