import CLatchkeySystemd
import Glibc

/// One sd-event loop. Single-threaded: every object of a loop stays on the thread that runs the loop.
public final class EventLoop {
  let pointer: OpaquePointer
  /// The number of the turn that ``run()`` is in; nil outside of it.
  public private(set) var turn: UInt64?

  /// A new loop, not the thread's default loop.
  public init() throws(SystemdError) {
    var loop: OpaquePointer?
    try SystemdError.check(sd_event_new(&loop), "make an event loop")
    guard let loop else { throw SystemdError(errno: ENOMEM, operation: "make an event loop") }
    pointer = loop
  }

  deinit { sd_event_unref(pointer) }

  /// Runs until `exit(code:)`, and returns its code. Handlers that wait in the kernel are interrupted (``Alarm``), so no other code
  /// may use SIGALRM.
  public func run() throws(SystemdError) -> Int32 {
    turn = 0
    defer { turn = nil }
    while sd_event_get_state(pointer) != SD_EVENT_FINISHED {
      var isReady = try SystemdError.check(sd_event_prepare(pointer), "run the event loop")
      if isReady == 0 { isReady = try SystemdError.check(sd_event_wait(pointer, UInt64.max), "run the event loop") }
      guard isReady > 0 else { continue }
      turn? += 1
      Alarm.set()
      defer { Alarm.clear() }
      try SystemdError.check(sd_event_dispatch(pointer), "run the event loop")
    }
    var code: Int32 = 0
    try SystemdError.check(sd_event_get_exit_code(pointer, &code), "run the event loop")
    return code
  }

  /// Ends a value that closes connections. Unread descriptors in a connection can make the kernel wait (``Alarm``), but in this
  /// call such a wait ends at once. Call it from a handler.
  public func close<Value: ~Copyable>(_ value: consuming Value) {
    guard turn != nil else { return }
    Alarm.hurry()
    _ = consume value
    Alarm.set()
  }

  /// Runs one turn, waiting at most `timeout` for something to happen (without limit when nil).
  /// Returns whether anything was dispatched.
  @discardableResult
  public func runOnce(timeout: Duration? = nil) throws(SystemdError) -> Bool {
    try SystemdError.check(sd_event_run(pointer, timeout?.microseconds ?? UInt64.max), "run the event loop") > 0
  }

  /// A descriptor that is readable while anything waits for its turn.
  public var descriptor: Int32 { sd_event_get_fd(pointer) }

  /// Ends `run()` after the handler that is running now.
  public func exit(code: Int32 = 0) { sd_event_exit(pointer, code) }

  /// Calls `handler` once after `delay`, or repeatedly with `repeating`. The clock also runs while the machine sleeps
  /// (CLOCK_BOOTTIME), so a time limit on a key includes sleep. The timer does not wake the machine.
  public func addTimer(
    after delay: Duration, repeating: Bool = false, handler: @escaping () -> Void
  ) throws(SystemdError) -> EventSource {
    let source = EventSource(.timer(delay: delay, repeating: repeating), handler: { _ in handler() })
    // Timers may be late by a tenth, so that the kernel can join wake-ups; 0 would mean 250 ms.
    let accuracy = min(max(delay.microseconds / 10, 1), 250_000)
    try source.attach("add a timer") { slot, userdata in
      sd_event_add_time_relative(
        pointer, &slot, CLOCK_BOOTTIME, delay.microseconds, accuracy, EventSource.timerFired, userdata)
    }
    return source
  }

  /// Calls `handler` when a descriptor is ready, with the events. The descriptor is borrowed: it must not be closed before
  /// the source ends.
  public func addIO(
    fd: Int32, events: IOEvents, handler: @escaping (IOEvents) -> Void
  ) throws(SystemdError) -> EventSource {
    let source = EventSource(.io, handler: { handler(IOEvents(rawValue: $0)) })
    try source.attach("watch a descriptor") { slot, userdata in
      sd_event_add_io(pointer, &slot, fd, events.rawValue, EventSource.ioReady, userdata)
    }
    return source
  }

  /// Calls `handler` for each arrival of a signal, which is blocked in the calling thread first. Call it before
  /// any other thread exists.
  public func addSignal(_ signal: Int32, handler: @escaping () -> Void) throws(SystemdError) -> EventSource {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, signal)
    try SystemdError.check(-pthread_sigmask(SIG_BLOCK, &set, nil), "block signal \(signal)")
    let source = EventSource(.signal, handler: { _ in handler() })
    try source.attach("watch signal \(signal)") { slot, userdata in
      sd_event_add_signal(pointer, &slot, signal, EventSource.signalArrived, userdata)
    }
    return source
  }

  /// Calls `handler` when no other work waits, repeatedly as long as it returns true (more to do). So long work runs in pieces of
  /// about 10 ms, and calls are answered in between.
  public func addIdle(handler: @escaping () -> Bool) throws(SystemdError) -> EventSource {
    let source = EventSource(.idle(handler), handler: { _ in })
    try source.attach("add idle work") { slot, userdata in
      sd_event_add_defer(pointer, &slot, EventSource.idleTurn, userdata)
    }
    try source.setPriority(Int64(SD_EVENT_PRIORITY_IDLE))
    return source
  }
}

/// The events of a descriptor that are ready, or are watched.
public struct IOEvents: OptionSet, Sendable {
  /// The bits of epoll(7).
  public let rawValue: UInt32
  /// Makes a set from the bits of epoll(7).
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Data or a connection waits.
  public static let readable = IOEvents(rawValue: 0x001)  // EPOLLIN
  /// There is room to write.
  public static let writable = IOEvents(rawValue: 0x004)  // EPOLLOUT
  /// Reported without being asked for.
  public static let failed = IOEvents(rawValue: 0x008)  // EPOLLERR
}

extension Duration {
  /// Whole microseconds; negative durations count as zero, and durations beyond 292,000 years count as 292,000 years.
  var microseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000)
    return overflow ? UInt64.max - 1 : product &+ UInt64(attoseconds / 1_000_000_000_000)
  }
}
