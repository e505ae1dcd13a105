import CLatchkeyAdwaita
import LatchkeySodium

/// The clipboard of the desktop, with a secret of this program in it.
///
/// The secret stays in locked memory of this program until another program pastes it. GTK's buffers have a copy at that moment.
public final class Clipboard {
  private let clipboard: OpaquePointer
  private var content: OpaquePointer?

  /// The clipboard of the screen that a widget is on.
  public init(of widget: Widget) {
    guard let clipboard = gtk_widget_get_clipboard(widget.pointer) else { preconditionFailure("no clipboard") }
    self.clipboard = clipboard
  }

  private final class Held {
    private var bytes: SecureBytes
    let count: Int

    init(_ bytes: consuming SecureBytes) {
      count = bytes.count
      self.bytes = bytes
    }

    /// Where they are. They stay there as long as this object does.
    var start: UnsafeRawPointer? { bytes.withUnsafeMutableBytes { UnsafeRawPointer($0.baseAddress) } }
  }

  /// Puts a secret there. Clipboard managers that know the mark keep no copy.
  public func put(secret: consuming SecureBytes) {
    let held = Held(secret)
    let data = g_bytes_new_with_free_func(
      held.start, gsize(held.count), { held in if let held { Unmanaged<Held>.fromOpaque(held).release() } },
      Unmanaged.passRetained(held).toOpaque())
    let mark = g_bytes_new("secret", 6)
    var providers: [UnsafeMutablePointer<GdkContentProvider>?] = []
    for kind in ["text/plain;charset=utf-8", "text/plain"] {
      providers.append(gdk_content_provider_new_for_bytes(kind, data))
    }
    // KDE's mark, which GNOME's and others' managers know too. GTK lists it among the forms of the content. It answers no request
    // for its value, as the name has no slash.
    providers.append(gdk_content_provider_new_for_bytes("x-kde-passwordManagerHint", mark))
    g_bytes_unref(data)
    g_bytes_unref(mark)
    put(gdk_content_provider_new_union(&providers, gsize(providers.count)).map { OpaquePointer($0) })
  }

  /// Puts a text there that is no secret.
  public func put(text: String) {
    release()
    gdk_clipboard_set_text(clipboard, text)
  }

  private func put(_ new: OpaquePointer?) {
    release()
    guard let new else { return }
    content = new
    gdk_clipboard_set_content(clipboard, UnsafeMutablePointer(new))
  }

  private func release() {
    if let content { g_object_unref(UnsafeMutableRawPointer(content)) }
    content = nil
  }

  /// Empties the clipboard if the secret is still in it.
  ///
  /// - Returns: whether it was.
  @discardableResult
  public func clear() -> Bool {
    guard let content else { return false }
    let isOurs = gdk_clipboard_get_content(clipboard).map { OpaquePointer($0) } == content
    if isOurs { gdk_clipboard_set_content(clipboard, nil) }
    release()
    return isOurs
  }
}
