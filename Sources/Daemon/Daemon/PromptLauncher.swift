import LatchkeyPosix
import LatchkeySystemd

/// Starts latchkey-prompt: as a unit of the user's service manager, since nothing that must run setuid helpers may come
/// from a hardened daemon; as a plain child only where no service manager is.
final class PromptLauncher {
  private let loop: EventLoop
  private let program: String
  /// Children that are not reaped yet.
  private var children: [Int32: (process: ChildProcess, source: EventSource)] = [:]

  init(loop: EventLoop, program: String) {
    self.loop = loop
    self.program = program
  }

  func launch(_ number: UInt64, by presence: BusPresence?, failed: @escaping () -> Void) {
    if let presence, !presence.endsWithBus {
      return presence.start(unit: "latchkey-prompt@\(number).service", failed: failed)
    }
    do {
      let child = try ChildProcess(program, [String(number)])
      let pid = child.pid
      let source = try loop.addIO(fd: child.descriptor, events: .readable) { [weak self] _ in
        self?.children[pid]?.process.reap()
        self?.children[pid] = nil
        failed()
      }
      children[pid] = (child, source)
    } catch {
      Journal.log(.warning, "\(program) cannot be started: \(error)")
      failed()
    }
  }
}
