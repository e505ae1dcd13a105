import CLatchkeySystemd
import Glibc

/// A timer, descriptor, signal or piece of idle work that an event loop watches. The owner removes the source from the loop by
/// dropping this object, even from within the handler.
public final class EventSource {
  enum Kind {
    case timer(delay: Duration, repeating: Bool)
    case io
    case signal
    case idle(() -> Bool)
  }

  /// The object that the C callback gets. sd-event owns one reference until the source is freed, so that a handler may drop its own
  /// source.
  final class Box {
    let kind: Kind
    let handler: (UInt32) -> Void

    init(_ kind: Kind, handler: @escaping (UInt32) -> Void) {
      self.kind = kind
      self.handler = handler
    }
  }

  private let box: Box
  private var source: OpaquePointer?

  init(_ kind: Kind, handler: @escaping (UInt32) -> Void) { box = Box(kind, handler: handler) }

  deinit { cancel() }

  /// Removes the source from its loop; its handler is not called again.
  public func cancel() {
    guard let source else { return }
    self.source = nil
    sd_event_source_disable_unref(source)
  }

  /// Whether the source may call its handler. Pausing a descriptor makes backpressure.
  public var isEnabled: Bool {
    get {
      var enabled: Int32 = 0
      guard let source, sd_event_source_get_enabled(source, &enabled) >= 0 else { return false }
      return enabled != Int32(SD_EVENT_OFF)
    }
    set {
      guard let source else { return }
      let once = if case .timer = box.kind { true } else { false }
      let enabled = once ? Int32(SD_EVENT_ONESHOT) : Int32(SD_EVENT_ON)
      sd_event_source_set_enabled(source, newValue ? enabled : Int32(SD_EVENT_OFF))
    }
  }

  /// Stops calling the handler, until `resume()`.
  public func pause() { isEnabled = false }

  /// Calls the handler again.
  public func resume() { isEnabled = true }

  /// Starts a timer again, even if it has fired already. It changes no source of another kind.
  public func rearm(after delay: Duration) {
    guard let source, case .timer = box.kind else { return }
    sd_event_source_set_time_relative(source, delay.microseconds)
    isEnabled = true
  }

  /// Sources of a lower number are served first; 0 is the default, and idle work has 100.
  public func setPriority(_ priority: Int64) throws(SystemdError) {
    guard let source else { return }
    try SystemdError.check(sd_event_source_set_priority(source, priority), "set a priority")
  }

  /// Adds the source to its loop with `add`, which gets a place for the C source, and the userdata to pass on.
  func attach(
    _ operation: String, add: (inout OpaquePointer?, UnsafeMutableRawPointer) -> Int32
  ) throws(SystemdError) {
    let retained = Unmanaged.passRetained(box)
    var added: OpaquePointer?
    let result = add(&added, retained.toOpaque())
    guard result >= 0, let added else {
      retained.release()
      throw SystemdError(errno: result < 0 ? -result : EINVAL, operation: operation)
    }
    sd_event_source_set_destroy_callback(added) { userdata in
      if let userdata { Unmanaged<Box>.fromOpaque(userdata).release() }
    }
    source = added
  }

  private static func box(_ userdata: UnsafeMutableRawPointer?) -> Box? {
    userdata.map { Unmanaged<Box>.fromOpaque($0).takeUnretainedValue() }
  }

  static let timerFired: sd_event_time_handler_t = { source, _, userdata in
    guard let box = box(userdata) else { return 0 }
    if case .timer(let delay, true) = box.kind {
      sd_event_source_set_time_relative(source, delay.microseconds)
      sd_event_source_set_enabled(source, Int32(SD_EVENT_ONESHOT))
    }
    withExtendedLifetime(box) { box.handler(0) }
    return 0
  }

  static let ioReady: sd_event_io_handler_t = { _, _, revents, userdata in
    guard let box = box(userdata) else { return 0 }
    withExtendedLifetime(box) { box.handler(revents) }
    return 0
  }

  static let signalArrived: sd_event_signal_handler_t = { _, _, userdata in
    guard let box = box(userdata) else { return 0 }
    withExtendedLifetime(box) { box.handler(0) }
    return 0
  }

  static let idleTurn: sd_event_handler_t = { source, userdata in
    guard let box = box(userdata), case .idle(let work) = box.kind else { return 0 }
    // A handler may drop its source, and its result then does not count. Without this reference, the source that is switched off
    // below would belong to no loop any more, and sd-event would abort.
    sd_event_source_ref(source)
    defer { sd_event_source_unref(source) }
    sd_event_source_set_enabled(source, Int32(SD_EVENT_ON))
    let more = withExtendedLifetime(box) { work() }
    if !more { sd_event_source_set_enabled(source, Int32(SD_EVENT_OFF)) }
    return 0
  }
}
