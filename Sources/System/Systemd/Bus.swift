import CLatchkeySystemd
import Glibc

/// A connection to a D-Bus message bus, served by an event loop. Nothing here waits for the bus: connecting,
/// saying Hello, calls and matches are all asynchronous.
///
/// sd-bus does not limit the access to exported objects. The connection counts as trusted, because sd-bus would otherwise ask the
/// bus for credentials, and wait. So the method handlers decide about each caller.
public final class Bus {
  /// The interface of the calls `Get`, `GetAll` and `Set`, and of the signal `PropertiesChanged`.
  public static let properties = "org.freedesktop.DBus.Properties"

  /// The address of a bus.
  public enum Address: Equatable, Sendable {
    /// `DBUS_SESSION_BUS_ADDRESS`, or else `bus` in `XDG_RUNTIME_DIR`.
    case session
    /// `bus` in the given runtime folder, without regard to the environment.
    case user(runtime: String)
    /// `DBUS_SYSTEM_BUS_ADDRESS`, or else the well-known system bus.
    case system
    /// A D-Bus address, such as `unix:path=/run/dbus/system_bus_socket`.
    case address(String)
  }

  let pointer: OpaquePointer

  /// Keeps the loop alive for as long as the bus is attached to it.
  private let loop: EventLoop
  private let priority: Int32

  private var local: [BusSlot] = []

  /// Starts connecting. Throws if it is clear at once that there is no bus (no socket, connection refused). `onDisconnect`
  /// reports every later failure.
  ///
  /// Calls, signals, matches and exports may be made at once: they wait in the queue behind Hello.
  public init(_ address: Address, loop: EventLoop, priority: Int32 = 0) throws(SystemdError) {
    var bus: OpaquePointer?
    switch address {
    case .session: try SystemdError.check(sd_bus_open_user(&bus), "connect to the session bus")
    case .system: try SystemdError.check(sd_bus_open_system(&bus), "connect to the system bus")
    case .user(let runtime): bus = try Self.start(at: "unix:path=\(Self.escaped(runtime))/bus")
    case .address(let text): bus = try Self.start(at: text)
    }
    guard let bus else { throw SystemdError(errno: ENOMEM, operation: "connect to the bus") }
    pointer = bus
    self.loop = loop
    self.priority = priority
    sd_bus_set_exit_on_disconnect(bus, 0)
    try SystemdError.check(sd_bus_attach_event(bus, loop.pointer, priority), "attach the bus to the event loop")
  }

  deinit {
    local = []
    sd_bus_detach_event(pointer)
    sd_bus_close_unref(pointer)
  }

  private static func start(at address: String) throws(SystemdError) -> OpaquePointer? {
    var bus: OpaquePointer?
    try SystemdError.check(sd_bus_new(&bus), "make a bus connection")
    var result = sd_bus_set_address(bus, address)
    if result >= 0 { result = sd_bus_set_bus_client(bus, 1) }
    if result >= 0 { result = sd_bus_set_trusted(bus, 1) }
    if result >= 0 { result = sd_bus_start(bus) }
    if result < 0 { sd_bus_unref(bus) }
    try SystemdError.check(result, "connect to \(address)")
    return bus
  }

  /// A path in the form of a D-Bus address, in which each byte that needs an escape becomes %XX.
  private static func escaped(_ path: String) -> String {
    var result = ""
    for byte in path.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"),
        UInt8(ascii: "."):
        result.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let hex = String(byte, radix: 16)
        result += hex.utf8.count == 1 ? "%0\(hex)" : "%\(hex)"
      }
    }
    return result
  }

  // MARK: The connection

  /// Whether the bus answered Hello. From then on calls go out at once.
  public var isReady: Bool { sd_bus_is_ready(pointer) > 0 }

  /// Whether the connection exists or is being made.
  public var isOpen: Bool { sd_bus_is_open(pointer) > 0 }

  /// The connection's socket, while the connection is open; -1 after that.
  public var descriptor: Int32 { sd_bus_get_fd(pointer) }

  /// The connection's own name (`:1.42`); nil until the bus has answered Hello.
  public var uniqueName: String? {
    // sd_bus_get_unique_name() waits for Hello, so we do not call it before.
    guard isReady else { return nil }
    var name: UnsafePointer<CChar>?
    guard sd_bus_get_unique_name(pointer, &name) >= 0, let name else { return nil }
    return String(cString: name)
  }

  /// Calls `handler` once the connection is lost or refused. Calls that still wait for an answer get an error first. A later call
  /// replaces an earlier handler. This object cannot connect again, so make a new `Bus`.
  public func onDisconnect(_ handler: @escaping () -> Void) throws(SystemdError) {
    let slot = try matchSignal(
      sender: Self.localName, path: "/org/freedesktop/DBus/Local", interface: Self.localName, member: "Disconnected"
    ) { _ in handler() }
    local = [slot]
  }

  /// Reads nothing more, and calls no handler, until ``resume()``. Messages that come meanwhile wait in the socket, in
  /// their order.
  public func pause() { sd_bus_detach_event(pointer) }

  /// Continues after ``pause()``.
  public func resume() throws(SystemdError) {
    guard sd_bus_get_event(pointer) == nil else { return }
    try SystemdError.check(sd_bus_attach_event(pointer, loop.pointer, priority), "attach the bus to the event loop")
  }

  /// Closes the connection at once; messages that were not sent yet are dropped. `onDisconnect` is not called.
  public func close() { sd_bus_close(pointer) }

  /// Waits until all queued messages are sent. It blocks, so call it only at the end of a program.
  public func flush() { sd_bus_flush(pointer) }

  static let localName = "org.freedesktop.DBus.Local"
  static let driverName = "org.freedesktop.DBus"
  static let driverPath = "/org/freedesktop/DBus"

  // MARK: Calls and signals

  /// Calls a method. `reply` is called exactly once, never before this returns, except if the call cannot be queued (then this
  /// throws), or if the bus is dropped first (then never).
  ///
  /// - Parameters:
  ///   - timeout: 25 seconds when nil.
  ///   - sensitive: call and reply are erased from memory when freed.
  ///   - autoStart: whether the bus may start a service that owns the destination.
  ///   - takesDetail: whether an error may have `BusError.detail` after its message. This sets the message's flag
  ///     `ALLOW_INTERACTIVE_AUTHORIZATION`, so leave it out in calls to services that ask polkit.
  public func callAsync(
    destination: String, path: String, interface: String, member: String, timeout: Duration? = nil,
    sensitive: Bool = false, autoStart: Bool = true, takesDetail: Bool = false,
    build: (inout MessageWriter) throws(BusError) -> Void = { _ in },
    reply: @escaping (Result<Message, BusError>) -> Void
  ) throws(BusError) {
    var call: OpaquePointer?
    try BusError.check(
      sd_bus_message_new_method_call(pointer, &call, destination, path, interface, member), writing: "a call")
    guard let call else { throw .failed("no memory for a call") }
    defer { sd_bus_message_unref(call) }
    if sensitive { sd_bus_message_sensitive(call) }
    if !autoStart { sd_bus_message_set_auto_start(call, 0) }
    if takesDetail { sd_bus_message_set_allow_interactive_authorization(call, 1) }
    try MessageWriter.write(call, build)
    do {
      try BusSlot.float(box: ReplyBox(sensitive: sensitive, reply), "call \(member)") { slot, userdata in
        sd_bus_call_async(pointer, &slot, call, ReplyBox.arrived, userdata, timeout?.microseconds ?? 0)
      }
    } catch {
      try BusError.check(-error.errno, writing: "a call")
    }
  }

  /// Sends a signal to everybody who asked for the signal, or to `destination` only.
  public func emitSignal(
    path: String, interface: String, member: String, to destination: String? = nil, sensitive: Bool = false,
    build: (inout MessageWriter) throws(BusError) -> Void = { _ in }
  ) throws(BusError) {
    var signal: OpaquePointer?
    try BusError.check(
      sd_bus_message_new_signal(pointer, &signal, path, interface, member), writing: "a signal")
    guard let signal else { throw .failed("no memory for a signal") }
    defer { sd_bus_message_unref(signal) }
    if sensitive { sd_bus_message_sensitive(signal) }
    if let destination {
      try BusError.check(sd_bus_message_set_destination(signal, destination), writing: "a destination")
    }
    try MessageWriter.write(signal, build)
    try BusError.check(sd_bus_send(pointer, signal, nil), writing: "a signal")
  }

  /// Announces that properties of an exported object changed. Each is sent with its new value, or only by name if
  /// it was declared with `.invalidates`.
  public func emitPropertiesChanged(path: String, interface: String, names: [String]) throws(BusError) {
    let result = CStringArray.with(names) { sd_bus_emit_properties_changed_strv(pointer, path, interface, $0) }
    try BusError.check(result, writing: "changed properties of \(path)")
  }

  // MARK: Names

  /// The outcome of a request for a name.
  public enum NameRequest: Equatable, Sendable {
    case owned
    /// This connection owned the name already.
    case alreadyOwned
    /// Another connection owns the name; nothing is queued.
    case exists
    /// Another connection owns the name, and this connection waits for the name.
    case queued
  }

  /// Asks for a well-known name.
  ///
  /// - Parameters:
  ///   - replaceExisting: whether to take the name from an owner that allows this, and otherwise to wait before all others.
  ///   - queueing: whether to wait for the name if another connection owns it.
  public func requestNameAsync(
    _ name: String, allowReplacement: Bool = false, replaceExisting: Bool = false,
    queueing: Bool = false, completion: @escaping (Result<NameRequest, BusError>) -> Void
  ) throws(BusError) {
    // DBUS_NAME_FLAG_ALLOW_REPLACEMENT 1, REPLACE_EXISTING 2, DO_NOT_QUEUE 4.
    let flags: UInt32 = (allowReplacement ? 1 : 0) | (replaceExisting ? 2 : 0) | (queueing ? 0 : 4)
    try callDriver("RequestName") { writer in
      writer.appendString(name)
      writer.appendUInt32(flags)
    } reply: { reply in
      completion(
        reply.reading { message throws(BusError) in
          switch try message.readUInt32() {
          case 1: return .owned
          case 2: return .queued
          case 3: return .exists
          case 4: return .alreadyOwned
          default: throw .failed("unexpected answer to a request for the name \(name)")
          }
        })
    }
  }

  /// Calls the bus driver itself.
  func callDriver(
    _ member: String, build: (inout MessageWriter) -> Void,
    reply: @escaping (Result<Message, BusError>) -> Void
  ) throws(BusError) {
    try callAsync(
      destination: Self.driverName, path: Self.driverPath, interface: Self.driverName, member: member, build: build,
      reply: reply)
  }
}

extension Result where Success == Message, Failure == BusError {
  /// The outcome of reading a reply: the reply's error, or an error if the reply has an unexpected shape.
  public func reading<Value>(_ read: (Message) throws(BusError) -> Value) -> Result<Value, BusError> {
    switch self {
    case .failure(let error): return .failure(error)
    case .success(let message):
      do throws(BusError) { return .success(try read(message)) } catch { return .failure(error) }
    }
  }
}

/// Waits for the reply to one call.
private final class ReplyBox {
  private let sensitive: Bool
  private var handler: ((Result<Message, BusError>) -> Void)?

  init(sensitive: Bool, _ handler: @escaping (Result<Message, BusError>) -> Void) {
    self.sensitive = sensitive
    self.handler = handler
  }

  static let arrived: sd_bus_message_handler_t = { message, userdata, _ in
    guard let message, let box = userdata?.box(as: ReplyBox.self), let handler = box.handler else { return 0 }
    box.handler = nil
    if box.sensitive { sd_bus_message_sensitive(message) }
    if let error = BusError(message: message) {
      handler(.failure(error))
    } else {
      handler(.success(Message(retaining: message)))
    }
    return 1
  }
}

/// A NULL-terminated array of C strings, for the time of a call.
enum CStringArray {
  static func with<R>(_ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> R) -> R {
    var pointers: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    return pointers.withUnsafeMutableBufferPointer { buffer in
      guard let base = buffer.baseAddress else { preconditionFailure("the array holds its terminator") }
      return body(base)
    }
  }
}
