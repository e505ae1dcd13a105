import CLatchkeyAdwaita

/// A text.
public final class Label: Widget {
  /// A text, aligned to the side at which its language begins.
  public init(_ text: String = "", wraps: Bool = false, isSelectable: Bool = false) {
    super.init(gtk_label_new(text))
    gtk_label_set_xalign(opaque, 0)
    if wraps {
      gtk_label_set_wrap(opaque, 1)
      gtk_label_set_wrap_mode(opaque, PANGO_WRAP_WORD_CHAR)
    } else {
      gtk_label_set_ellipsize(opaque, PANGO_ELLIPSIZE_END)
    }
    gtk_label_set_selectable(opaque, isSelectable ? 1 : 0)
  }

  /// The text that is shown.
  public var text: String {
    get { gtk_label_get_text(opaque).map { String(cString: $0) } ?? "" }
    set { gtk_label_set_text(opaque, newValue) }
  }
}

/// A symbol of the desktop's theme.
public final class Symbol: Widget {
  /// A symbol that screen readers skip, because the text beside it says the same.
  public init(_ name: String) { super.init(gtk_image_new_from_icon_name(name)) }

  /// Shows another symbol.
  public func show(_ name: String) { gtk_image_set_from_icon_name(opaque, name) }
}

/// A page that shows one message in large letters.
public final class StatusPage: Widget {
  /// A page with a symbol, a title and a sentence.
  public init(symbol: String, title: String, text: String = "") {
    super.init(adw_status_page_new())
    show(symbol: symbol, title: title, text: text)
    expanding(horizontally: true, vertically: true)
  }

  /// Shows another message.
  public func show(symbol: String, title: String, text: String) {
    adw_status_page_set_icon_name(opaque, symbol)
    adw_status_page_set_title(opaque, title)
    adw_status_page_set_description(opaque, escapedMarkup(text))
  }

  /// Has a button below the sentence: its text, and the action that it calls.
  public func offer(_ button: (text: String, action: String)?) {
    adw_status_page_set_child(opaque, nil)
    guard let button else { return }
    let made = Button(button.text).styled("pill", "suggested-action").inTheMiddle()
    gtk_actionable_set_action_name(made.opaque, button.action)
    adw_status_page_set_child(opaque, made.pointer)
  }
}

/// The text, escaped for libadwaita's functions that read markup.
func escapedMarkup(_ text: String) -> String {
  guard let escaped = g_markup_escape_text(text, -1) else { return "" }
  defer { g_free(escaped) }
  return String(cString: escaped)
}
