import LatchkeyGettext
import LatchkeyPosix
import LatchkeySystemd

/// Tells the person by a notification that the answer is still being checked, if the prompter does not show that. The
/// notification is removed with this object.
///
/// PAM serves no event loop meanwhile, so a thread with a connection of its own does this.
final class CheckingNotice {
  private let thread: SideThread?

  /// Most answers are checked before somebody wonders.
  private static let delay = Duration.seconds(2)

  init() { thread = SideThread { end in Self.run(until: end) } }

  private static func run(until end: Int32) {
    guard let loop = try? EventLoop() else { return }
    let life = PromptDeadline(loop: loop, limit: .seconds(600))
    guard let ending = try? loop.addIO(fd: end, events: .readable, handler: { _ in life.giveUp() }) else { return }
    guard !life.wait(atMost: delay, until: { life.isOver }), let bus = DesktopBus(deadline: life) else { return }
    var number: UInt32?
    var isAnswered = false
    let answered = { (reply: Result<Message, BusError>) in
      if case .success(let message) = reply { number = try? message.readUInt32() }
      isAnswered = true
    }
    let notice = PersonNotice(
      title: translated("Latchkey is checking your answer"),
      text: translated("This can take a minute on a slow or busy machine."))
    guard (try? notice.send(on: bus.bus, reply: answered)) != nil else { return }
    _ = life.wait(until: { bus.isLost })
    // Otherwise this would be called again and again from now on.
    ending.cancel()
    _ = PromptDeadline(loop: loop, limit: PersonNotice.answerLimit).wait(until: { isAnswered || bus.isLost })
    guard let number, !bus.isLost else { return }
    PersonNotice.remove(number, on: bus.bus)
  }
}
