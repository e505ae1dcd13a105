import Glibc
import LatchkeyPosix
import LatchkeySystemd

/// A started program. The event loop waits for its end, even if nobody refers to this object any more.
final class StartedProgram {
  private let child: ChildProcess
  private let loop: EventLoop
  private var source: EventSource?
  private var limit: EventSource?
  private var ended: (() -> Void)?

  /// - Parameter ended: called once, after the program's end.
  init(_ child: ChildProcess, loop: EventLoop, ended: @escaping () -> Void) throws(SystemdError) {
    self.child = child
    self.loop = loop
    self.ended = ended
    do throws(SystemdError) {
      // The event source keeps this object alive until the program ends.
      source = try loop.addIO(fd: child.descriptor, events: .readable) { [self] _ in finish() }
    } catch {
      child.send(SIGKILL)
      throw error
    }
  }

  private func finish() {
    child.reap()
    let ended = self.ended
    self.ended = nil
    (source, limit) = (nil, nil)
    ended?()
  }

  /// Kills the program after some time.
  func kill(after delay: Duration) {
    limit = try? loop.addTimer(after: delay) { [child] in child.send(SIGKILL) }
  }

  /// Kills the program now.
  func kill() { child.send(SIGKILL) }

  /// Sends the program a signal to end it, and kills the program if it does not end. `ended` is never called.
  func abandon(signal: Int32) {
    ended = nil
    guard source != nil else { return }
    child.send(signal)
    kill(after: QuestionQueue.endLimit)
  }
}
