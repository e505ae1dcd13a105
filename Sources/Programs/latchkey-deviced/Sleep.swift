import Glibc
import LatchkeyPosix
import LatchkeySystemd

/// Hears from logind that the machine goes to sleep, and delays the sleep until this program is ready.
///
/// Every program on the system bus can send a signal that looks like logind's. So this type believes only the process that answered
/// a call to logind's name. ``asleep`` shows a sleep that logind did not announce.
final class Sleep {
  private static let name = "org.freedesktop.login1"
  private static let path = "/org/freedesktop/login1"
  private static let manager = name + ".Manager"

  private let loop: EventLoop
  private let begins: (@escaping () -> Void) -> Void
  private var isComing = false
  private var bus: Bus?
  private var signals: BusSlot?
  /// logind's unique name, once logind answered.
  private var owner: String?
  private var end: BusSlot?
  /// The descriptor of logind's delay lock, which delays the sleep while it is open.
  private var lock: Int32?

  /// - Parameter begins: called before a sleep with a function, and calls this function when the machine may sleep.
  init(loop: EventLoop, begins: @escaping (@escaping () -> Void) -> Void) {
    self.loop = loop
    self.begins = begins
  }

  deinit { release() }

  /// How long the machine has slept since it was started, in milliseconds.
  static var asleep: Int {
    LatchkeyPosix.Process.sinceBoot - LatchkeyPosix.Process.now
  }

  /// Begins to listen, unless it listens already. Without a system bus, it hears nothing.
  func listen() {
    guard bus == nil else { return }
    do {
      let bus = try Bus(.system, loop: loop)
      self.bus = bus
      try bus.onDisconnect { [weak self] in self?.stop() }
      signals = try bus.matchSignal(
        sender: Self.name, path: Self.path, interface: Self.manager, member: "PrepareForSleep",
        installed: { [weak self] _ in self?.meet() },
        handler: { [weak self] message throws(BusError) in
          guard let self, let owner, message.sender == owner else { return }
          isComing = try message.readBool()
          guard isComing else { return meet() }
          begins { [weak self] in
            // The machine may have woken up by now.
            if let self, isComing { release() }
          }
        })
    } catch { stop() }
  }

  /// Stops listening.
  func stop() {
    isComing = false
    release()
    (signals, end, owner, bus) = (nil, nil, nil, nil)
  }

  /// Asks logind for the delay lock. The answer also shows logind's unique name.
  private func meet() {
    guard let bus, lock == nil else { return }
    do throws(BusError) {
      try bus.callAsync(
        destination: Self.name, path: Self.path, interface: Self.manager, member: "Inhibit", autoStart: false
      ) {
        for text in ["sleep", "latchkey-deviced", "Erase keys before sleep", "delay"] { $0.appendString(text) }
      } reply: { [weak self] reply in
        guard case .success(let message) = reply, let descriptor = try? message.readUnixFD() else { return }
        guard let self, lock == nil, self.bus != nil else {
          close(descriptor)
          return
        }
        (lock, owner) = (descriptor, message.sender)
        // If logind starts again, it has another unique name.
        guard let owner, let bus = self.bus else { return }
        end = try? bus.watchPeer(owner) { [weak self] in
          self?.release()
          self?.meet()
        }
      }
    } catch { return }
  }

  private func release() {
    if let lock { close(lock) }
    lock = nil
  }
}
