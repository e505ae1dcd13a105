import CLatchkeyAdwaita

/// The list at the side, one of whose rows is chosen.
public final class Sidebar: Widget {
  private var rows: [Widget] = []
  // The rows of the entries. Titles are separate rows between them, which nobody can choose.
  private var choices: [Widget] = []
  private var chosen = 0

  /// An empty list.
  public init(name: String) {
    super.init(gtk_list_box_new())
    styled("navigation-sidebar")
    gtk_list_box_set_selection_mode(opaque, GTK_SELECTION_BROWSE)
    named(name)
    // The Tab key chooses each row that it passes, but goes to none of them.
    guard let focus = gtk_event_controller_focus_new() else { return }
    Handler.connect(UnsafeMutableRawPointer(focus), "leave") { [unowned self] in choose(chosen) }
    gtk_widget_add_controller(pointer, focus)
  }

  /// Calls `body` with the number of the entry that a person chose.
  public func onChoose(_ body: @escaping (Int) -> Void) {
    Handler.connect(raw, argumentOf: "row-activated") { [unowned self] row in
      if let number = choices.firstIndex(where: { $0.raw == row }) { body(number) }
    }
  }

  /// Fills the list. Each entry has a symbol and a text. The first entry of a group also has the group's title.
  public func fill(_ entries: [(symbol: String, text: String, title: String?)]) {
    let former = rows
    (rows, choices) = ([], [])
    for row in former { gtk_list_box_remove(opaque, row.pointer) }
    for entry in entries {
      if let title = entry.title {
        let row = append(Label(title).styled("heading", "dim-label").margins(6, 6), name: title)
        gtk_list_box_row_set_selectable(row.cast(), 0)
        gtk_list_box_row_set_activatable(row.cast(), 0)
      }
      let line = Box(.row, spacing: 12, Symbol(entry.symbol), Label(entry.text)).margins(8, 6)
      choices.append(append(line, name: entry.text))
    }
  }

  private func append(_ content: Widget, name: String) -> Widget {
    let row = Widget(gtk_list_box_row_new())
    row.keep(content)
    gtk_list_box_row_set_child(row.cast(), content.pointer)
    row.named(name)
    gtk_list_box_append(opaque, row.pointer)
    rows.append(row)
    return row
  }

  /// Shows that an entry is chosen.
  public func choose(_ number: Int) {
    chosen = number
    if choices.indices.contains(number) { gtk_list_box_select_row(opaque, choices[number].cast()) }
  }
}
