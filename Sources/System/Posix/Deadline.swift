import Glibc

/// The moment until which a call waits.
public struct Deadline: Sendable {
  /// The moment, on the clock of ``Process/now``, in milliseconds.
  public let time: Int
  /// A descriptor that is readable while other work waits. From the given moment on, such work ends the call.
  private let interruption: (descriptor: Int32, from: Int)?

  /// The call waits until this moment in any case.
  public init(_ time: Int) {
    self.time = time
    interruption = nil
  }

  /// The call waits until `moment`, and from `from` on only until `descriptor` is readable.
  public init(_ time: Int, from: Int, unlessReadable descriptor: Int32) {
    self.time = time
    interruption = (descriptor, from)
  }

  /// Waits until a descriptor is ready for reading.
  ///
  /// - Throws: ``PosixError`` with `ETIMEDOUT`, or `ECANCELED` if other work waits.
  func wait(for descriptor: Int32, _ operation: StaticString) throws(PosixError) {
    while true {
      var items = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
      let now = Process.now
      guard now < time else { throw PosixError(operation, code: ETIMEDOUT) }
      var end = time
      if let interruption {
        if now < interruption.from {
          end = min(end, interruption.from)
        } else {
          items.append(pollfd(fd: interruption.descriptor, events: Int16(POLLIN), revents: 0))
        }
      }
      let ready = poll(&items, nfds_t(items.count), Int32(clamping: end - now))
      if items[0].revents != 0 { return }
      if ready > 0 { throw PosixError(operation, code: ECANCELED) }
      if ready < 0 && errno != EINTR { throw PosixError("poll") }
    }
  }

  /// The number of milliseconds that are left.
  ///
  /// - Throws: ``PosixError`` with `ETIMEDOUT`, or `ECANCELED` if other work waits.
  func rest(_ operation: StaticString) throws(PosixError) -> Int {
    let now = Process.now
    guard now < time else { throw PosixError(operation, code: ETIMEDOUT) }
    if let interruption, now >= interruption.from {
      var item = pollfd(fd: interruption.descriptor, events: Int16(POLLIN), revents: 0)
      if poll(&item, 1, 0) > 0 { throw PosixError(operation, code: ECANCELED) }
    }
    return time - now
  }
}
