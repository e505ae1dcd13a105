import Glibc
import LatchkeyDeviceService
import LatchkeyPosix
import LatchkeySystemd

/// Waits for the device key service in the event loop, before the vault asks it for anything. Later requests are then
/// answered at once, and locks are heard meanwhile.
final class DeviceServiceProbe {
  private let loop: EventLoop
  private let path: String
  private let limit: TurnLimit
  private var waiting: [() -> Void] = []
  private var socket: ProbeSocket?
  private var source: EventSource?
  private var deadline: EventSource?
  private var retry: EventSource?

  /// The time in which the service must answer, because a login waits for it. A service that did not answer before gets less time.
  private static let time = (first: Duration.seconds(1), again: Duration.milliseconds(250))
  /// The time until the next try if the service has too many connections.
  private static let retryTime = Duration.milliseconds(20)

  init(loop: EventLoop, path: String, limit: TurnLimit) {
    self.loop = loop
    self.path = path
    self.limit = limit
  }

  /// Whether the service did not answer when it was asked last.
  var isSilent: Bool { limit.isSilent }

  /// Whether other work interrupted the last request, which must be made again.
  var wasBrokenOff: Bool { limit.wasBrokenOff }

  /// Call this before the requests that ``wasBrokenOff`` reports on.
  func forgetBreakingOff() { limit.wasBrokenOff = false }

  /// Calls `then` when the service has answered or will not answer, or at once if it is not installed.
  func ask(_ then: @escaping () -> Void) {
    guard access(path, F_OK) == 0 else {
      // Perhaps somebody has removed the service because it hung, so nobody waits for it any more.
      limit.isSilent = false
      return then()
    }
    waiting.append(then)
    guard waiting.count == 1 else { return }
    do {
      let time = isSilent ? Self.time.again : Self.time.first
      deadline = try loop.addTimer(after: time) { [weak self] in self?.end(isSilent: true) }
      send()
    } catch { end(isSilent: limit.isSilent) }
  }

  private func send() {
    (source, retry, socket) = (nil, nil, nil)
    do {
      let socket = ProbeSocket(try ServiceProbe(at: path))
      self.socket = socket
      source = try loop.addIO(fd: socket.probe.number, events: .readable) { [weak self] _ in self?.heard() }
    } catch let error as PosixError {
      guard [EAGAIN, EPIPE, ECONNRESET].contains(error.code) else { return end(isSilent: false) }
      sendAgain()
    } catch { end(isSilent: limit.isSilent) }
  }

  private func sendAgain() {
    (source, socket) = (nil, nil)
    retry = try? loop.addTimer(after: Self.retryTime) { [weak self] in self?.send() }
  }

  private func heard() {
    guard socket?.probe.isAnswered() ?? false else { return sendAgain() }
    end(isSilent: false)
  }

  private func end(isSilent: Bool) {
    (source, retry, deadline, socket) = (nil, nil, nil, nil)
    limit.isSilent = isSilent
    let all = waiting
    waiting = []
    for then in all { then() }
  }
}

/// Keeps a probe, which cannot be copied.
private final class ProbeSocket {
  let probe: ServiceProbe
  init(_ probe: consuming ServiceProbe) { self.probe = probe }
}
