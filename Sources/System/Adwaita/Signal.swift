import CLatchkeyAdwaita

/// A closure for a signal. GLib keeps the closure until it frees the object that sends the signal. If a signal expects a result, it
/// gets 0: then a window that a person closes does close, and a command line counts as successful.
final class Handler {
  private let body: (UnsafeMutableRawPointer?) -> Void

  private init(_ body: @escaping (UnsafeMutableRawPointer?) -> Void) { self.body = body }

  private static func of(_ data: UnsafeMutableRawPointer?) -> Handler? {
    data.map { Unmanaged<Handler>.fromOpaque($0).takeUnretainedValue() }
  }

  private typealias Plain = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> gboolean
  private typealias WithArgument =
    @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> gboolean

  private static let plain: Plain = { _, data in
    Handler.of(data)?.body(nil)
    return 0
  }
  private static let withArgument: WithArgument = { _, argument, data in
    Handler.of(data)?.body(argument)
    return 0
  }
  private static let release: GClosureNotify = { data, _ in
    if let data { Unmanaged<Handler>.fromOpaque(data).release() }
  }

  /// Calls `body` at each signal that has no arguments.
  static func connect(_ object: UnsafeMutableRawPointer, _ signal: String, _ body: @escaping () -> Void) {
    g_signal_connect_data(
      object, signal, unsafeBitCast(plain, to: GCallback.self),
      Unmanaged.passRetained(Handler { _ in body() }).toOpaque(), release, GConnectFlags(rawValue: 0))
  }

  /// Calls `body` at each signal, with the signal's one argument: a pointer, or a number cast to a pointer.
  static func connect(
    _ object: UnsafeMutableRawPointer, argumentOf signal: String,
    _ body: @escaping (UnsafeMutableRawPointer?) -> Void
  ) {
    g_signal_connect_data(
      object, signal, unsafeBitCast(withArgument, to: GCallback.self),
      Unmanaged.passRetained(Handler(body)).toOpaque(), release, GConnectFlags(rawValue: 0))
  }
}
