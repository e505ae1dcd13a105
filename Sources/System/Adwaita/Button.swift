import CLatchkeyAdwaita

/// A button.
public final class Button: Widget {
  /// A button with a text. The text has an underscore before the letter that presses the button together with Alt.
  public init(_ text: String, _ body: @escaping () -> Void = {}) {
    super.init(gtk_button_new_with_mnemonic(text))
    Handler.connect(raw, "clicked", body)
    name(text)
    centred()
  }

  /// A button with a symbol. Screen readers say its name, and the pointer shows the name.
  public init(symbol: String, name: String, _ body: @escaping () -> Void = {}) {
    super.init(gtk_button_new_from_icon_name(symbol))
    Handler.connect(raw, "clicked", body)
    named(name)
    tip(name)
    centred()
  }

  /// Calls `body` each time that the button is pressed.
  public func onPress(_ body: @escaping () -> Void) { Handler.connect(raw, "clicked", body) }

  /// Makes the text the button's name for screen readers. The name that GTK would give has the underscore, and the text twice.
  private func name(_ text: String) {
    gtk_accessible_reset_relation(opaque, GTK_ACCESSIBLE_RELATION_LABELLED_BY)
    named(String(text.filter { $0 != "_" }))
  }

  /// Sets another text, in which an underscore has the same meaning as in `init`.
  public func setText(_ text: String) {
    gtk_button_set_label(cast(), text)
    name(text)
  }

  /// Sets another symbol and name.
  public func setSymbol(_ symbol: String, name: String) {
    gtk_button_set_icon_name(cast(), symbol)
    named(name)
    tip(name)
  }
}

/// A list from which a person chooses one of a few texts.
public final class Choice: Widget {
  private let texts: [String]

  /// A list whose first text is chosen.
  public init(_ texts: [String], name: String) {
    self.texts = texts
    var words: [UnsafePointer<CChar>?] = texts.map { UnsafePointer(g_strdup($0)) }
    words.append(nil)
    super.init(gtk_drop_down_new_from_strings(words))
    for word in words { g_free(UnsafeMutableRawPointer(mutating: word)) }
    named(name)
    centred()
  }

  /// The number of the chosen text.
  public var chosen: Int {
    get { Int(gtk_drop_down_get_selected(opaque)) }
    set { gtk_drop_down_set_selected(opaque, guint(newValue)) }
  }

  /// Calls `body` when another text is chosen.
  public func onChange(_ body: @escaping () -> Void) {
    Handler.connect(raw, argumentOf: "notify::selected") { _ in body() }
  }
}

/// A bar that shows the progress of work.
public final class ProgressBar: Widget {
  /// A bar without progress.
  public init() { super.init(gtk_progress_bar_new()) }

  /// Shows that the work has not ended yet.
  public func pulse() { gtk_progress_bar_pulse(opaque) }
}
