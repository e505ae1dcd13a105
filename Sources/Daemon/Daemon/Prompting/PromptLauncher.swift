import LatchkeyPosix
import LatchkeySystemd

/// Starts latchkey-prompt as a unit of the user's service manager, because a child of a hardened daemon cannot run setuid helpers.
/// Without a service manager it is a plain child.
final class PromptLauncher {
  private let loop: EventLoop
  private let program: String
  /// The children that are not reaped yet.
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
