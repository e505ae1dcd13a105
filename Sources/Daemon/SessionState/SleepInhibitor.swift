import Glibc
import LatchkeySystemd

/// Holds up sleep (logind's delay lock) until the keys are erased, for at most InhibitDelayMaxSec.
final class SleepInhibitor {
  private enum State {
    case none
    case asked(Int)
    case held(Int32)
    /// logind refused the lock. It is not requested again before `release()`.
    case refused
  }

  private var state = State.none
  private var requests = 0

  deinit { release() }

  var isHeld: Bool {
    if case .held = state { true } else { false }
  }

  /// Asks logind for the lock, unless it is held or requested already. If the request is refused, for example because polkit is
  /// missing, sleep is still noticed, but no longer waits.
  func take(_ bus: Bus) {
    guard case .none = state else { return }
    requests += 1
    let request = requests
    state = .asked(request)
    do throws(BusError) {
      try bus.callAsync(
        destination: LogindWatch.name, path: LogindWatch.path, interface: LogindWatch.manager, member: "Inhibit"
      ) {
        for text in ["sleep", "latchkeyd", "Erase keys before sleep", "delay"] { $0.appendString(text) }
      } reply: { [weak self] reply in
        let fd = reply.reading { message throws(BusError) in try message.readUnixFD() }
        self?.answered(request, fd)
      }
    } catch {
      state = .none
    }
  }

  /// Lets the machine sleep.
  func release() {
    if case .held(let fd) = state { close(fd) }
    state = .none
  }

  private func answered(_ request: Int, _ fd: Result<Int32, BusError>) {
    guard case .asked(request) = state else {
      // `release()` was called before logind gave the lock.
      if case .success(let fd) = fd { close(fd) }
      return
    }
    switch fd {
    case .success(let fd): state = .held(fd)
    case .failure(let error):
      state = .refused
      Journal.log(.notice, "sleep cannot be held up until keys are erased: \(error)")
    }
  }
}
