import Glibc

/// GLib's main loop, for programs that make the calls from its handlers. The library is loaded at run time, because nothing else
/// here needs it.
enum GLibLoop {
  private typealias Handler = @convention(c) (UnsafeMutableRawPointer?) -> Int32

  private final class Work {
    let body: () -> Void
    let end: () -> Void

    init(_ body: @escaping () -> Void, end: @escaping () -> Void) {
      self.body = body
      self.end = end
    }
  }

  /// Runs the loop, with a connection of its own to the session bus, until one of its handlers has run the body.
  static func run(_ body: @escaping () -> Void) throws {
    let bus: @convention(c) (Int32, OpaquePointer?, OpaquePointer?) -> OpaquePointer? = try symbol("g_bus_get_sync")
    let make: @convention(c) (OpaquePointer?, Int32) -> OpaquePointer? = try symbol("g_main_loop_new")
    let run: @convention(c) (OpaquePointer?) -> Void = try symbol("g_main_loop_run")
    let quit: @convention(c) (OpaquePointer?) -> Void = try symbol("g_main_loop_quit")
    let addIdle: @convention(c) (Handler, UnsafeMutableRawPointer?) -> UInt32 = try symbol("g_idle_add")
    guard bus(2, nil, nil) != nil, let loop = make(nil, 0) else { throw Mistake("GLib has no bus or no loop") }
    let work = Unmanaged.passRetained(Work(body, end: { quit(loop) }))
    defer { work.release() }
    _ = addIdle(
      { pointer in
        guard let pointer else { return 0 }
        let work = Unmanaged<Work>.fromOpaque(pointer).takeUnretainedValue()
        work.body()
        work.end()
        return 0
      }, work.toOpaque())
    run(loop)
  }

  private static func symbol<Function>(_ name: String) throws -> Function {
    guard let library = dlopen("libgio-2.0.so.0", RTLD_NOW), let found = dlsym(library, name) else {
      throw Mistake("GLib has no \(name)")
    }
    return unsafeBitCast(found, to: Function.self)
  }
}
