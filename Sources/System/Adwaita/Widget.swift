import CLatchkeyAdwaita

/// A part of a window. This object holds one reference to GTK's widget, and the window holds another.
open class Widget {
  let pointer: UnsafeMutablePointer<GtkWidget>
  private var children: [Widget] = []

  init(_ pointer: UnsafeMutablePointer<GtkWidget>?) {
    guard let pointer else { preconditionFailure("GTK made no widget") }
    self.pointer = pointer
    g_object_ref_sink(pointer)
  }

  deinit { g_object_unref(pointer) }

  var raw: UnsafeMutableRawPointer { UnsafeMutableRawPointer(pointer) }
  var opaque: OpaquePointer { OpaquePointer(pointer) }
  func cast<Type>() -> UnsafeMutablePointer<Type> { raw.assumingMemoryBound(to: Type.self) }

  /// Keeps the Swift object of a child alive as long as this object.
  func keep(_ child: Widget) { children.append(child) }

  /// Whether the widget is shown.
  public var isVisible: Bool {
    get { gtk_widget_get_visible(pointer) != 0 }
    set { gtk_widget_set_visible(pointer, newValue ? 1 : 0) }
  }

  /// Whether the widget and everything around it are on the screen.
  public var isOnScreen: Bool { gtk_widget_get_mapped(pointer) != 0 }

  /// Whether a person can use the widget.
  public var isEnabled: Bool {
    get { gtk_widget_get_sensitive(pointer) != 0 }
    set { gtk_widget_set_sensitive(pointer, newValue ? 1 : 0) }
  }

  /// Whether the widget takes room that no other widget needs.
  @discardableResult
  public func expanding(horizontally: Bool = false, vertically: Bool = false) -> Self {
    gtk_widget_set_hexpand(pointer, horizontally ? 1 : 0)
    gtk_widget_set_vexpand(pointer, vertically ? 1 : 0)
    return self
  }

  /// Sets the room around the widget.
  @discardableResult
  public func margins(_ vertical: Int32, _ horizontal: Int32) -> Self {
    gtk_widget_set_margin_top(pointer, vertical)
    gtk_widget_set_margin_bottom(pointer, vertical)
    gtk_widget_set_margin_start(pointer, horizontal)
    gtk_widget_set_margin_end(pointer, horizontal)
    return self
  }

  /// Adds a class of the style sheet.
  @discardableResult
  public func styled(_ names: String...) -> Self {
    for name in names { gtk_widget_add_css_class(pointer, name) }
    return self
  }

  /// Centres the widget between the top and bottom of its room.
  @discardableResult
  public func centred() -> Self {
    gtk_widget_set_valign(pointer, GTK_ALIGN_CENTER)
    return self
  }

  /// In the middle of its room, from side to side.
  @discardableResult
  public func inTheMiddle() -> Self {
    gtk_widget_set_halign(pointer, GTK_ALIGN_CENTER)
    return self
  }

  /// Sets the name that a screen reader says.
  @discardableResult
  public func named(_ name: String) -> Self {
    latchkey_set_accessible_label(pointer, name)
    return self
  }

  /// Sets the name that a screen reader says for the list's row around this widget. The row is GTK's own widget.
  public func nameRow(_ name: String) {
    if let row = gtk_widget_get_parent(pointer) { latchkey_set_accessible_label(row, name) }
  }

  /// Sets the text that appears beside the pointer.
  @discardableResult
  public func tip(_ text: String) -> Self {
    gtk_widget_set_tooltip_text(pointer, text)
    return self
  }

  /// Sets the smallest size.
  @discardableResult
  public func atLeast(width: Int32 = -1, height: Int32 = -1) -> Self {
    gtk_widget_set_size_request(pointer, width, height)
    return self
  }

  /// Gives the widget the keyboard.
  public func focus() { gtk_widget_grab_focus(pointer) }

  /// Calls `body` when the widget disappears from the screen, alone or together with the page around it.
  public func onHide(_ body: @escaping () -> Void) { Handler.connect(raw, "unmap", body) }
}
