import CLatchkeyAdwaita

/// A field whose text is searched for while it is typed.
public final class SearchField: Widget {
  /// Empty.
  public init(hint: String) {
    super.init(gtk_search_entry_new())
    gtk_editable_set_text(opaque, "")
    // Every key that is pressed begins a search at once.
    gtk_search_entry_set_search_delay(opaque, 0)
    g_object_set_text(raw, "placeholder-text", hint)
    named(hint)
  }

  /// The text.
  public var text: String { gtk_editable_get_text(opaque).map { String(cString: $0) } ?? "" }

  /// Calls `body` after each change.
  public func onChange(_ body: @escaping () -> Void) { Handler.connect(raw, "search-changed", body) }

  /// Takes every key that is typed in the window and means nothing else.
  public func takeKeys(of window: Widget) { gtk_search_entry_set_key_capture_widget(opaque, window.pointer) }
}

/// Sets a property that is a text.
func g_object_set_text(_ object: UnsafeMutableRawPointer, _ name: String, _ text: String) {
  var value = GValue()
  g_value_init(&value, GType(16 << 2))  // G_TYPE_STRING
  g_value_set_string(&value, text)
  g_object_set_property(object.assumingMemoryBound(to: GObject.self), name, &value)
  g_value_unset(&value)
}
