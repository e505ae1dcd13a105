import CLatchkeyAdwaita
import LatchkeySodium

/// The clipboard of the desktop, with a secret of this program in it.
///
/// The secret stays in locked memory of this program until another program pastes it. GTK's buffers have a copy at that moment.
///
/// A desktop may keep its own copy, and offer the copy when a program gives the clipboard up. GNOME does so on Wayland. So this
/// program first erases the secret. Then it gives the clipboard up by putting an empty text there, which replaces the desktop's
/// copy. Wayland allows that only to the window that has the keyboard.
public final class Clipboard {
  private let clipboard: OpaquePointer
  private var secret: SecretContent?

  /// The clipboard of the screen that a widget is on.
  public init(of widget: Widget) {
    guard let clipboard = gtk_widget_get_clipboard(widget.pointer) else { preconditionFailure("no clipboard") }
    self.clipboard = clipboard
  }

  /// Puts a secret into the clipboard, marked as secret. Clipboard managers that know this mark keep no copy.
  public func put(secret bytes: consuming SecureBytes) {
    empty()
    let new = SecretContent(bytes)
    gdk_clipboard_set_content(clipboard, new.provider)
    secret = new
  }

  /// Puts a text that is not secret into the clipboard.
  public func put(text: String) {
    empty()
    secret = nil
    gdk_clipboard_set_text(clipboard, text)
  }

  /// Erases the secret. Programs then paste nothing, until something else is copied.
  public func empty() { secret?.empty() }

  /// Puts an empty text into the clipboard, if the clipboard still holds this secret.
  public func giveUp() {
    guard let secret else { return }
    secret.empty()
    if gdk_clipboard_get_content(clipboard) == secret.provider { gdk_clipboard_set_text(clipboard, "") }
    self.secret = nil
    gdk_display_flush(gdk_clipboard_get_display(clipboard))
  }
}
