import Glibc
import LatchkeyPosix
import LatchkeySystemd

/// A program whose end the loop awaits, even after the last reference to this object.
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
      // The source holds this object until the end.
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

  /// Sends the program a signal to end it, and kills the program if that goes on. `ended` is not called.
  func abandon(signal: Int32) {
    ended = nil
    guard source != nil else { return }
    child.send(signal)
    kill(after: QuestionQueue.endLimit)
  }
}
