import CLatchkeyAdwaita

/// A search field, which searches while the person types.
public final class SearchField: Widget {
  /// An empty field.
  public init(hint: String) {
    super.init(gtk_search_entry_new())
    gtk_editable_set_text(opaque, "")
    // Each key begins a search at once.
    gtk_search_entry_set_search_delay(opaque, 0)
    g_object_set_text(raw, "placeholder-text", hint)
    named(hint)
  }

  /// The text that is searched for.
  public var text: String { gtk_editable_get_text(opaque).map { String(cString: $0) } ?? "" }

  /// Calls `body` after each change.
  public func onChange(_ body: @escaping () -> Void) { Handler.connect(raw, "search-changed", body) }

  /// Calls `body` at the Enter key.
  public func onEnter(_ body: @escaping () -> Void) { Handler.connect(raw, "activate", body) }

  /// Makes the field take every key that is typed in the window and that nothing else uses. With nil, the field takes none.
  public func takeKeys(of window: Widget?) { gtk_search_entry_set_key_capture_widget(opaque, window?.pointer) }
}

/// Sets a text property of a GObject.
func g_object_set_text(_ object: UnsafeMutableRawPointer, _ name: String, _ text: String) {
  var value = GValue()
  g_value_init(&value, GType(16 << 2))  // G_TYPE_STRING
  g_value_set_string(&value, text)
  g_object_set_property(object.assumingMemoryBound(to: GObject.self), name, &value)
  g_value_unset(&value)
}
