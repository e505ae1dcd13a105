import LatchkeyGettext
import LatchkeyPosix
import LatchkeySystemd

/// Tells the person by a notification that the answer is still being checked, if the prompter does not show that. The
/// notification is removed with this object.
///
/// While PAM checks the answer, no event loop runs. So a thread with its own connection shows the notification.
final class CheckingNotice {
  private let thread: SideThread?

  /// The wait before the notification. Most answers are checked sooner.
  private static let delay = Duration.seconds(2)

  init() { thread = SideThread { end in Self.run(until: end) } }

  private static func run(until end: Int32) {
    guard let loop = try? EventLoop() else { return }
    let life = PromptDeadline(loop: loop, limit: .seconds(600))
    var ending: EventSource?
    defer { ending = nil }
    ending = try? loop.addIO(fd: end, events: .readable) { _ in
      life.giveUp()
      // The descriptor stays readable, so the loop would call this handler again and again.
      ending?.cancel()
    }
    guard ending != nil, !life.wait(atMost: delay, until: { life.isOver }) else { return }
    let notice = PersonNotice(
      title: translated("Latchkey is checking your answer"),
      text: translated("This can take a minute on a slow or busy machine."))
    _ = notice.show(until: life)
  }
}
