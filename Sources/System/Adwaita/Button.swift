import CLatchkeyAdwaita

/// Something to press.
public final class Button: Widget {
  /// With a text. An underscore stands before the letter that presses it together with Alt.
  public init(_ text: String, _ body: @escaping () -> Void = {}) {
    super.init(gtk_button_new_with_mnemonic(text))
    Handler.connect(raw, "clicked", body)
    name(text)
    centred()
  }

  /// With a symbol, and a name that screen readers say and the pointer shows.
  public init(symbol: String, name: String, _ body: @escaping () -> Void = {}) {
    super.init(gtk_button_new_from_icon_name(symbol))
    Handler.connect(raw, "clicked", body)
    named(name)
    tip(name)
    centred()
  }

  /// Calls `body` each time.
  public func onPress(_ body: @escaping () -> Void) { Handler.connect(raw, "clicked", body) }

  /// Names it as its text. GTK's own name has the underscore, and the text a second time.
  private func name(_ text: String) {
    gtk_accessible_reset_relation(opaque, GTK_ACCESSIBLE_RELATION_LABELLED_BY)
    named(String(text.filter { $0 != "_" }))
  }

  /// Another text, as at the beginning.
  public func setText(_ text: String) {
    gtk_button_set_label(cast(), text)
    name(text)
  }

  /// Another symbol and name.
  public func setSymbol(_ symbol: String, name: String) {
    gtk_button_set_icon_name(cast(), symbol)
    named(name)
    tip(name)
  }
}

/// One of a few texts.
public final class Choice: Widget {
  private let texts: [String]

  /// The first one is chosen.
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

  /// Calls `body` when another one is chosen.
  public func onChange(_ body: @escaping () -> Void) {
    Handler.connect(raw, argumentOf: "notify::selected") { _ in body() }
  }
}

/// How far something is.
public final class ProgressBar: Widget {
  /// At its beginning.
  public init() { super.init(gtk_progress_bar_new()) }

  /// Shows that the work goes on.
  public func pulse() { gtk_progress_bar_pulse(opaque) }
}
