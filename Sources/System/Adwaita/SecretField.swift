import CLatchkeyAdwaita
import LatchkeySodium

/// A field for a secret. The person types it, or reads it but cannot copy it. GTK keeps the text of this field in locked memory and
/// erases it. It does so for no other kind of field. While the text is visible, the text layout has a copy in plain memory.
public final class SecretField: Widget {
  /// The use of a field.
  public enum Purpose {
    /// The person types a password, which is shown as dots.
    case typing
    /// The person types a code from paper, and sees it.
    case spelling
    /// The person reads a secret.
    case reading
  }

  private let buffer: UnsafeMutablePointer<GtkEntryBuffer>

  /// An empty field.
  public init(_ purpose: Purpose, name: String) {
    guard let buffer = gtk_password_entry_buffer_new() else { preconditionFailure("GTK made no buffer") }
    self.buffer = buffer
    // GtkPasswordEntry cannot be both read-only and visible, so this is a GtkEntry.
    super.init(gtk_entry_new_with_buffer(buffer))
    switch purpose {
    case .typing:
      gtk_entry_set_visibility(cast(), 0)
      gtk_entry_set_input_purpose(cast(), GTK_INPUT_PURPOSE_PASSWORD)
    case .spelling: styled("monospace")
    case .reading:
      gtk_editable_set_editable(opaque, 0)
      styled("monospace")
      // A copy in the clipboard would stay there. So the person can copy from this field by no selection, menu, key or drag.
      let inner = gtk_editable_get_delegate(opaque).map { UnsafeMutableRawPointer($0) }
      for part in [pointer, inner?.assumingMemoryBound(to: GtkWidget.self)] {
        gtk_widget_set_focusable(part, 0)
        gtk_widget_set_can_focus(part, 0)
        gtk_widget_set_can_target(part, 0)
      }
    }
    gtk_entry_set_input_hints(
      cast(), GtkInputHints(rawValue: GTK_INPUT_HINT_PRIVATE.rawValue | GTK_INPUT_HINT_NO_SPELLCHECK.rawValue))
    gtk_editable_set_enable_undo(opaque, 0)
    named(name)
    expanding(horizontally: true)
  }

  deinit {
    gtk_entry_buffer_delete_text(buffer, 0, -1)
    g_object_unref(buffer)
  }

  /// Shows a secret that is text without a NUL.
  public func show(_ secret: RawSpan) {
    secret.withUnsafeBytes { bytes in
      // GTK needs a NUL at the end of the text. So this makes a copy in locked memory, which is erased.
      guard var ended = try? SecureBytes(count: bytes.count + 1) else { return }
      ended.withUnsafeMutableBytes { copy in
        copy.copyMemory(from: bytes)
        if let text = copy.baseAddress?.assumingMemoryBound(to: CChar.self) {
          gtk_entry_buffer_set_text(buffer, text, -1)
        }
      }
    }
    // The field is as wide as the secret, because nobody can move a cursor in it. The area around the field scrolls.
    gtk_editable_set_width_chars(opaque, Int32(min(gtk_entry_buffer_get_length(buffer), 2000)))
  }

  /// A copy of the text in UTF-8, in locked memory.
  public func take() throws(SodiumError) -> SecureBytes {
    let count = gtk_entry_buffer_get_bytes(buffer)
    guard count > 0, let text = gtk_entry_buffer_get_text(buffer) else { return try SecureBytes(count: 0) }
    return try SecureBytes(copying: RawSpan(_unsafeStart: UnsafeRawPointer(text), byteCount: Int(count)))
  }

  /// Erases the text.
  public func erase() { gtk_entry_buffer_delete_text(buffer, 0, -1) }

  /// Calls `body` when the person presses Enter.
  public func onEnter(_ body: @escaping () -> Void) { Handler.connect(raw, "activate", body) }
}
