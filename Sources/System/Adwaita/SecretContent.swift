import CLatchkeyAdwaita
import Glibc
import LatchkeySodium

/// A secret as the content of a clipboard, from locked memory. It can be emptied while it stays the clipboard's content.
final class SecretContent {
  /// KDE's mark for secrets, which clipboard managers of GNOME and others know too. GTK lists the mark among the forms of the
  /// content. On X11, GTK answers no request for the mark's value, because the name has no slash.
  private static let mark = "x-kde-passwordManagerHint"
  private static let markValue: StaticString = "secret"
  private static let kinds = ["text/plain;charset=utf-8", "text/plain", mark]
  private static let key = "latchkey-secret"

  private final class Held {
    private var bytes: SecureBytes
    private(set) var count: Int

    init(_ bytes: consuming SecureBytes) {
      count = bytes.count
      self.bytes = bytes
    }

    /// The address of the bytes, which stays the same as long as this object exists.
    var start: UnsafeRawPointer? { bytes.withUnsafeMutableBytes { UnsafeRawPointer($0.baseAddress) } }

    /// Overwrites the bytes in place: a paste may be under way.
    func erase() {
      count = 0
      bytes.withUnsafeMutableBytes { if let start = $0.baseAddress { explicit_bzero(start, $0.count) } }
    }
  }

  private static let release: GDestroyNotify = { held in
    if let held { Unmanaged<Held>.fromOpaque(held).release() }
  }

  private static let type = g_type_register_static_simple(
    gdk_content_provider_get_type(), "LatchkeySecretContent", guint(MemoryLayout<GdkContentProviderClass>.size),
    { functions, _ in
      let functions = functions?.assumingMemoryBound(to: GdkContentProviderClass.self)
      functions?.pointee.ref_formats = { _ in
        let builder = gdk_content_formats_builder_new()
        for kind in kinds { gdk_content_formats_builder_add_mime_type(builder, kind) }
        return gdk_content_formats_builder_free_to_formats(builder)
      }
      functions?.pointee.write_mime_type_async = { content, kind, stream, priority, _, then, data in
        guard let content, let held = g_object_get_data(&content.pointee.parent, key) else { return }
        let task = g_task_new(content, nil, then, data)
        g_task_set_task_data(
          task, Unmanaged.passRetained(Unmanaged<Held>.fromOpaque(held).takeUnretainedValue()).toOpaque(), release)
        SecretContent.write(kind.map { String(cString: $0) } ?? "", held, to: stream, priority, task)
      }
      functions?.pointee.write_mime_type_finish = { _, task, error in g_task_propagate_boolean(task, error) }
    }, guint(MemoryLayout<GdkContentProvider>.size), nil, GTypeFlags(rawValue: 0))

  /// Writes the bytes that are held now. `task` keeps the object with the bytes alive until the writing has ended.
  private static func write(
    _ kind: String, _ held: UnsafeMutableRawPointer, to stream: UnsafeMutablePointer<GOutputStream>?, _ priority: Int32,
    _ task: OpaquePointer?
  ) {
    let held = Unmanaged<Held>.fromOpaque(held).takeUnretainedValue()
    let (start, count) =
      kind == mark ? (UnsafeRawPointer(markValue.utf8Start), markValue.utf8CodeUnitCount) : (held.start, held.count)
    g_output_stream_write_all_async(
      stream, UnsafeMutableRawPointer(mutating: start), gsize(count), priority, nil,
      { stream, result, task in
        let task = task.map { OpaquePointer($0) }
        var error: UnsafeMutablePointer<GError>?
        let stream = UnsafeMutableRawPointer(stream)?.assumingMemoryBound(to: GOutputStream.self)
        if g_output_stream_write_all_finish(stream, result, nil, &error) != 0 {
          g_task_return_boolean(task, 1)
        } else {
          g_task_return_error(task, error)
        }
        g_object_unref(UnsafeMutableRawPointer(task))
      }, UnsafeMutableRawPointer(task))
  }

  /// The content, for GTK.
  let provider: UnsafeMutablePointer<GdkContentProvider>
  private let held: Held

  init(_ bytes: consuming SecureBytes) {
    guard let made = g_object_new_with_properties(Self.type, 0, nil, nil) else { preconditionFailure("no memory") }
    held = Held(bytes)
    g_object_set_data_full(made, Self.key, Unmanaged.passRetained(held).toOpaque(), Self.release)
    provider = UnsafeMutableRawPointer(made).assumingMemoryBound(to: GdkContentProvider.self)
  }

  deinit { g_object_unref(provider) }

  /// Erases the secret. A program that pastes it from now on gets nothing.
  func empty() { held.erase() }
}
