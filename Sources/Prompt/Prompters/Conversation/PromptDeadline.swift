import LatchkeyPosix
import LatchkeySystemd

/// The time that a prompt waits: one limit for the whole prompt. The wait ends early if nobody wants the answer any more. Every
/// wait runs the event loop.
public final class PromptDeadline {
  /// The event loop that runs while a prompt waits.
  public let loop: EventLoop

  /// Whether the prompt is over: the daemon withdrew it, this program must end, or the time is up.
  public private(set) var isOver = false

  /// Whether the prompt is over because the time is up.
  public private(set) var isExpired = false

  private let deadline: Int
  /// The limit, in whole seconds.
  let seconds: Int

  /// How long another program may take for an answer that needs no person. The program may have to start first, while a login keeps
  /// the machine busy.
  static let programLimit = Duration.seconds(10)

  /// Begins to wait.
  public init(loop: EventLoop, limit: Duration) {
    self.loop = loop
    deadline = Process.now + PromptDeadline.milliseconds(limit)
    seconds = Int(clamping: limit.components.seconds)
  }

  /// Handles the events that came while the loop did not run, for example while PAM waited for the helper.
  public func catchUp() {
    guard !isOver else { return }
    do { try loop.runOnce(timeout: .zero) } catch { isOver = true }
  }

  /// Ends all waits.
  public func giveUp() { isOver = true }

  /// Notes that the time is up, according to the prompter.
  func expire() {
    guard !isOver else { return }
    (isOver, isExpired) = (true, true)
  }

  /// Waits until the prompt is over.
  public func waitToEnd() { _ = wait(until: { false }) }

  /// Waits until `done` returns true, until the prompt is over, or at most for `limit`.
  ///
  /// - Returns: whether `done` returned true.
  public func wait(atMost limit: Duration? = nil, until done: () -> Bool) -> Bool {
    let end = limit.map { min(deadline, Process.now + PromptDeadline.milliseconds($0)) } ?? deadline
    while !done() {
      if Process.now >= deadline { expire() }
      let rest = end - Process.now
      guard !isOver, rest > 0 else { return false }
      do { try loop.runOnce(timeout: .milliseconds(rest)) } catch { isOver = true }
    }
    return true
  }

  private static func milliseconds(_ duration: Duration) -> Int {
    Int(clamping: duration.components.seconds) * 1000 + Int(duration.components.attoseconds / 1_000_000_000_000_000)
  }
}
