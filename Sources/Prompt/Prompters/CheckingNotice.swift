import LatchkeyGettext
import LatchkeyPosix
import LatchkeySystemd

/// Tells the person by a notification that the answer is still being checked, if the prompter does not show that. The
/// notification goes with this object.
///
/// PAM serves no event loop meanwhile, so a thread with a connection of its own does this.
final class CheckingNotice {
  private let thread: SideThread?

  /// Most answers are checked before somebody wonders.
  private static let delay = Duration.seconds(2)
  /// How long the notification server may take to return the notification's number.
  private static let answerLimit = Duration.seconds(1)
  private static let name = "org.freedesktop.Notifications"

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
    guard (try? notify(bus.bus, answered)) != nil else { return }
    _ = life.wait(until: { bus.isLost })
    // Otherwise this would be called again and again from now on.
    ending.cancel()
    _ = PromptDeadline(loop: loop, limit: answerLimit).wait(until: { isAnswered || bus.isLost })
    guard let number, !bus.isLost else { return }
    try? bus.bus.callAsync(
      destination: name, path: "/org/freedesktop/Notifications", interface: name, member: "CloseNotification",
      autoStart: false
    ) {
      $0.appendUInt32(number)
    } reply: { _ in
    }
    bus.bus.flush()
  }

  private static func notify(
    _ bus: Bus, _ answered: @escaping (Result<Message, BusError>) -> Void
  ) throws(BusError) {
    // No program is started for it.
    try bus.callAsync(
      destination: name, path: "/org/freedesktop/Notifications", interface: name, member: "Notify", autoStart: false
    ) { out in
      out.appendString("Latchkey")
      out.appendUInt32(0)
      out.appendString("dialog-password")
      out.appendString(translated("Latchkey is checking your answer"))
      out.appendString(translated("This can take a minute on a slow or busy machine."))
      out.appendStrings([])
      out.appendDictionary("sv") { _ in }
      out.appendInt32(-1)
    } reply: {
      answered($0)
    }
  }
}
