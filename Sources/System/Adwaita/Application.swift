import CLatchkeyAdwaita
import Glibc

/// The program, which is one process for the desktop, even if a person starts it several times.
public final class Application {
  private let pointer: UnsafeMutablePointer<AdwApplication>
  private var raw: UnsafeMutableRawPointer { UnsafeMutableRawPointer(pointer) }

  /// - Parameter name: the name on the bus, which is also the name of the desktop file.
  public init(name: String) {
    guard let made = adw_application_new(name, G_APPLICATION_HANDLES_COMMAND_LINE) else {
      preconditionFailure("GTK made no application")
    }
    pointer = made
  }

  deinit { g_object_unref(pointer) }

  /// Runs the application until its last window is closed.
  ///
  /// - Parameter opened: gets the words of the command line each time that somebody starts the program.
  public func run(_ words: [String], opened: @escaping ([String]) -> Void) -> Int32 {
    Handler.connect(raw, argumentOf: "command-line") { line in
      var count: Int32 = 0
      let words = g_application_command_line_get_arguments(
        line?.assumingMemoryBound(to: GApplicationCommandLine.self), &count)
      defer { g_strfreev(words) }
      opened((0..<Int(count)).compactMap { words?[$0].map { String(cString: $0) } })
    }
    var pointers: [UnsafeMutablePointer<CChar>?] = words.map { g_strdup($0) }
    pointers.append(nil)
    defer { for pointer in pointers { g_free(pointer) } }
    return g_application_run(raw.assumingMemoryBound(to: GApplication.self), Int32(words.count), &pointers)
  }

  /// Lays out all later widgets from right to left.
  public func turnRightToLeft() { gtk_widget_set_default_direction(GTK_TEXT_DIR_RTL) }

  /// Calls `body` when the desktop starts the program by its name on the bus.
  public func onActivation(_ body: @escaping () -> Void) { Handler.connect(raw, "activate", body) }

  /// An action of the whole program, with the keys that call it. Other programs call it by its name on the bus.
  public func add(action name: String, keys: String..., body: @escaping () -> Void) {
    guard let action = g_simple_action_new(name, nil) else { return }
    Handler.connect(UnsafeMutableRawPointer(action), argumentOf: "activate") { _ in body() }
    g_action_map_add_action(OpaquePointer(pointer), action)
    g_object_unref(UnsafeMutableRawPointer(action))
    guard !keys.isEmpty else { return }
    var words: [UnsafePointer<CChar>?] = keys.map { UnsafePointer(g_strdup($0)) }
    words.append(nil)
    gtk_application_set_accels_for_action(raw.assumingMemoryBound(to: GtkApplication.self), "app.\(name)", words)
    for word in words { g_free(UnsafeMutableRawPointer(mutating: word)) }
  }

  private final class Ending {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
  }

  /// Calls `body` when the session or a person sends a signal that would end the program. The signal itself no longer ends the
  /// program.
  public func onSignal(_ body: @escaping () -> Void) {
    for signal in [SIGTERM, SIGINT, SIGHUP] {
      g_unix_signal_add_full(
        Int32(G_PRIORITY_DEFAULT), signal,
        { data in
          if let data { Unmanaged<Ending>.fromOpaque(data).takeUnretainedValue().body() }
          return 1
        }, Unmanaged.passRetained(Ending(body)).toOpaque(),
        { data in if let data { Unmanaged<Ending>.fromOpaque(data).release() } })
    }
  }

  /// Ends the application.
  public func quit() { g_application_quit(raw.assumingMemoryBound(to: GApplication.self)) }

  var asParent: UnsafeMutablePointer<GtkApplication> { raw.assumingMemoryBound(to: GtkApplication.self) }
}

/// The program's window.
public final class Window: Widget {
  private let toasts: Widget

  /// A window with one content.
  public init(of application: Application, title: String, icon: String, _ content: Widget) {
    toasts = Widget(adw_toast_overlay_new())
    super.init(adw_application_window_new(application.asParent))
    adw_toast_overlay_set_child(toasts.opaque, content.pointer)
    adw_application_window_set_content(cast(), toasts.pointer)
    keep(content)
    gtk_window_set_title(cast(), title)
    gtk_window_set_icon_name(cast(), icon)
    gtk_window_set_default_size(cast(), 980, 640)
    atLeast(width: 360, height: 294)
  }

  /// Shows the window in front of other windows.
  public func present() { gtk_window_present(cast()) }

  /// Closes the window.
  public func close() { gtk_window_close(cast()) }

  /// Whether the window has the keyboard.
  public var isActive: Bool { gtk_window_is_active(cast()) != 0 }

  /// Calls `body` when the window gets or loses the keyboard.
  public func onActivity(_ body: @escaping () -> Void) {
    Handler.connect(raw, argumentOf: "notify::is-active") { _ in body() }
  }

  /// Calls `body` before the window closes.
  public func onClose(_ body: @escaping () -> Void) { Handler.connect(raw, "close-request", body) }

  /// Shows a text for some seconds.
  ///
  /// - Parameter button: the text of a button, and the action that the button calls.
  public func tell(_ text: String, button: (text: String, action: String)? = nil) {
    guard let toast = adw_toast_new(escapedMarkup(text)) else { return }
    if let button {
      adw_toast_set_button_label(toast, button.text)
      adw_toast_set_action_name(toast, button.action)
      // The usual 5 s are too short to read the message and to reach the button.
      adw_toast_set_timeout(toast, 15)
    }
    adw_toast_overlay_add_toast(toasts.opaque, toast)
  }
}
