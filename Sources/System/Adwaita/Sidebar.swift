import CLatchkeyAdwaita

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
