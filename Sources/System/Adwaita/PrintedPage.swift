import CLatchkeyAdwaita
import LatchkeySodium

/// A page of paper with a secret on it: a title, the secret in large letters, and a text below.
///
/// GTK draws the page for its print dialog. The page's layout has a copy of the secret in plain memory while GTK draws. The
/// printer's queue has a copy until the page is printed.
public final class PrintedPage {
  /// How the dialog ended.
  public enum End { case printed, cancelled, failed }

  private let title: String
  private var secret: SecureBytes
  private let text: String
  private let operation: UnsafeMutablePointer<GtkPrintOperation>

  /// - Parameter secret: text without a NUL.
  public init(title: String, secret: consuming SecureBytes, text: String) {
    (self.title, self.text) = (title, text)
    self.secret = secret
    guard let operation = gtk_print_operation_new() else { preconditionFailure("GTK has no printing") }
    self.operation = operation
  }

  deinit { g_object_unref(UnsafeMutableRawPointer(operation)) }

  private typealias Draw =
    @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, Int32, UnsafeMutableRawPointer?) -> Void
  private static let draw: Draw = { _, context, _, data in
    if let context, let data { Unmanaged<PrintedPage>.fromOpaque(data).takeUnretainedValue().draw(on: context) }
  }

  /// Shows the desktop's print dialog. The caller must keep the page until `then` is called.
  public func print(over window: Window, then: @escaping (End) -> Void) {
    let raw = UnsafeMutableRawPointer(operation)
    gtk_print_operation_set_n_pages(operation, 1)
    gtk_print_operation_set_job_name(operation, title)
    gtk_print_operation_set_embed_page_setup(operation, 1)
    // Without this, GTK would run its own event loop here.
    gtk_print_operation_set_allow_async(operation, 1)
    g_signal_connect_data(
      raw, "draw-page", unsafeBitCast(Self.draw, to: GCallback.self), Unmanaged.passUnretained(self).toOpaque(), nil,
      GConnectFlags(rawValue: 0))
    Handler.connect(raw, argumentOf: "done") { result in
      switch GtkPrintOperationResult(UInt32(truncatingIfNeeded: UInt(bitPattern: result))) {
      case GTK_PRINT_OPERATION_RESULT_APPLY: then(.printed)
      case GTK_PRINT_OPERATION_RESULT_CANCEL: then(.cancelled)
      default: then(.failed)
      }
    }
    gtk_print_operation_run(operation, GTK_PRINT_OPERATION_ACTION_PRINT_DIALOG, window.cast(), nil)
  }

  private func draw(on context: OpaquePointer) {
    guard let cairo = gtk_print_context_get_cairo_context(context) else { return }
    var place = 0.0
    for (font, height) in [("Sans Bold 16", 24.0), ("Monospace 16", 24.0), ("Sans 11", 0.0)] {
      guard let layout = gtk_print_context_create_pango_layout(context) else { return }
      defer { g_object_unref(UnsafeMutableRawPointer(layout)) }
      let description = pango_font_description_from_string(font)
      pango_layout_set_font_description(layout, description)
      pango_font_description_free(description)
      pango_layout_set_width(layout, Int32(gtk_print_context_get_width(context) * Double(PANGO_SCALE)))
      switch font {
      case "Sans Bold 16": pango_layout_set_text(layout, title, -1)
      case "Sans 11": pango_layout_set_text(layout, text, -1)
      default:
        secret.withUnsafeMutableBytes { bytes in
          pango_layout_set_text(layout, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count))
        }
      }
      cairo_move_to(cairo, 0, place)
      pango_cairo_show_layout(cairo, layout)
      var size: Int32 = 0
      pango_layout_get_size(layout, nil, &size)
      place += Double(size) / Double(PANGO_SCALE) + height
    }
  }
}
