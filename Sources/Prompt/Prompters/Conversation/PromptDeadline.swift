import LatchkeyPosix
import LatchkeySystemd

/// The time that a prompt waits: one limit for the whole prompt, and only while somebody wants the answer. Every wait serves
/// the event loop.
public final class PromptDeadline {
  /// The loop that is served.
  public let loop: EventLoop

  /// Whether no answer is wanted any more: the daemon withdrew the prompt, the program shall end, or the time is up.
  public private(set) var isOver = false

  /// Whether it ended because the time is up.
  public private(set) var isExpired = false

  private let deadline: Int
  /// The limit, in whole seconds.
  let seconds: Int

  /// How long a program may take for an answer that needs no person. It may have to be started first, on a machine that is busy
  /// with a login.
  static let programLimit = Duration.seconds(10)

  /// Begins to wait.
  public init(loop: EventLoop, limit: Duration) {
    self.loop = loop
    deadline = Process.now + PromptDeadline.milliseconds(limit)
    seconds = Int(clamping: limit.components.seconds)
  }

  /// Handles the events that came while a wait did not serve the loop, as when PAM waits for the helper.
  public func catchUp() {
    guard !isOver else { return }
    do { try loop.runOnce(timeout: .zero) } catch { isOver = true }
  }

  /// Waits no longer for anything.
  public func giveUp() { isOver = true }

  /// Notes that the time is up, according to the prompter.
  func expire() {
    guard !isOver else { return }
    (isOver, isExpired) = (true, true)
  }

  /// Waits until it is over.
  public func waitToEnd() { _ = wait(until: { false }) }

  /// Waits until `done`, for a person, or at most for `limit`.
  ///
  /// - Returns: whether it is done.
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
