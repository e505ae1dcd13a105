import CLatchkeyAdwaita

/// A line that a person opens to see more lines.
public final class Expander: Widget {
  /// Closed. An underscore stands before the letter that opens it together with Alt.
  public init(_ title: String, _ lines: [String]) {
    super.init(gtk_expander_new_with_mnemonic(title))
    let box = Box(.column, spacing: 6).margins(6, 6)
    for line in lines { box.append(Label(line, wraps: true).styled("caption")) }
    let area = ScrolledArea(box).atLeast(height: 180)
    keep(area)
    gtk_expander_set_child(opaque, area.pointer)
  }
}
