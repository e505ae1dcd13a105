import CLatchkeyAdwaita

/// A row with a title, a text below it, and things to press at its end.
public final class Row: Widget {
  /// A row that nothing happens with until it gets something to press.
  public init(_ title: String, _ text: String = "") {
    super.init(adw_action_row_new())
    adw_preferences_row_set_use_markup(cast(), 0)
    adw_preferences_row_set_title(cast(), title)
    adw_action_row_set_subtitle(cast(), escapedMarkup(text))
    adw_action_row_set_title_lines(cast(), 0)
    adw_action_row_set_subtitle_lines(cast(), 0)
  }

  /// The text below the title.
  public func setText(_ text: String) { adw_action_row_set_subtitle(cast(), escapedMarkup(text)) }

  /// The title.
  public func setTitle(_ title: String) { adw_preferences_row_set_title(cast(), title) }

  /// Puts something at its end.
  @discardableResult
  public func adding(_ child: Widget) -> Self {
    keep(child)
    adw_action_row_add_suffix(cast(), child.pointer)
    return self
  }

  /// Puts a symbol at its beginning.
  @discardableResult
  public func beginning(_ symbol: Symbol) -> Self {
    keep(symbol)
    adw_action_row_add_prefix(cast(), symbol.pointer)
    return self
  }

  /// A click anywhere in the row, or Enter, presses `button`.
  @discardableResult
  public func pressing(_ button: Button) -> Self {
    adw_action_row_set_activatable_widget(cast(), button.pointer)
    return self
  }
}

/// Rows below a title.
public final class Group: Widget {
  private var rows: [Widget] = []

  /// Empty.
  public init(_ title: String = "", _ text: String = "") {
    super.init(adw_preferences_group_new())
    adw_preferences_group_set_title(cast(), escapedMarkup(title))
    adw_preferences_group_set_description(cast(), text.isEmpty ? nil : escapedMarkup(text))
  }

  /// Another title and text.
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

  /// Whether it has no row.
  public var isEmpty: Bool { rows.isEmpty }
}

/// The list at the side, one of whose rows is chosen.
public final class Sidebar: Widget {
  private var rows: [Widget?] = []
  private var isFilling = false

  /// Empty.
  public init(name: String) {
    super.init(gtk_list_box_new())
    styled("navigation-sidebar")
    gtk_list_box_set_selection_mode(opaque, GTK_SELECTION_BROWSE)
    named(name)
  }

  /// Calls `body` with the number of the row that a person chose.
  public func onChoose(_ body: @escaping (Int) -> Void) {
    Handler.connect(raw, argumentOf: "row-activated") { [unowned self] row in
      guard !isFilling, let row else { return false }
      body(Int(gtk_list_box_row_get_index(row.assumingMemoryBound(to: GtkListBoxRow.self))))
      return false
    }
  }

  /// Fills it: symbol, text and, on the first row of a part, that part's title.
  public func fill(_ entries: [(symbol: String, text: String, title: String?)]) {
    isFilling = true
    defer { isFilling = false }
    for row in rows { if let row { gtk_list_box_remove(opaque, row.pointer) } }
    rows = entries.map { entry in
      let line = Box(.row, spacing: 12, Symbol(entry.symbol), Label(entry.text)).margins(8, 6)
      let box = Box(.column)
      if let title = entry.title { box.append(Label(title).styled("heading", "dim-label").margins(6, 6)) }
      box.append(line)
      let row = Widget(gtk_list_box_row_new())
      row.keep(box)
      gtk_list_box_row_set_child(row.cast(), box.pointer)
      row.named(entry.text)
      gtk_list_box_append(opaque, row.pointer)
      return row
    }
  }

  /// Shows which one is chosen.
  public func choose(_ number: Int) {
    guard rows.indices.contains(number), let row = rows[number] else { return }
    gtk_list_box_select_row(opaque, row.cast())
  }
}
