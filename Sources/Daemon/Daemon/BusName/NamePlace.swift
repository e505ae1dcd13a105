import Glibc
import LatchkeyPosix
import LatchkeySystemd

/// The place right behind the daemon in the queue for a bus name, kept for the next daemon.
///
/// A program that waits for the name, as gnome-keyring does, would get it as soon as the daemon ends. While such a program waits, a
/// second connection of the daemon waits in front of it, and the service manager keeps that connection's descriptor. So a crash or
/// a restart leaves the name to this connection, and the next daemon takes it from there. Calls that come in between get an error.
///
/// If no other program waits, there is no such connection, so that the bus keeps calls for the next daemon.
final class NamePlace {
  private let name: String
  private let loop: EventLoop
  private let address: Bus.Address
  /// The connections that former daemons left with the service manager.
  private var former: [ServiceManager.ListenDescriptor]
  private weak var bus: Bus?
  private var watch: BusSlot?
  private var later: EventSource?
  private var connection: Bus?
  /// Whether the service manager has the connection.
  private(set) var isKept = false
  /// Whether another program waits for the name.
  private(set) var othersWait = false
  /// Whether a new connection was made because the old connection was not next in the queue. It is false again as soon as the new
  /// connection is next.
  private var hasMoved = false

  /// The prefix of the descriptors' names.
  private static let prefix = "name-place-"
  private static let keptName = "\(prefix)\(getpid())"
  /// The wait after a program has taken another name, because it may request this name a moment later.
  private static let pause = Duration.seconds(1)

  /// - Parameter passed: the descriptors that the service manager passed to this program.
  init(_ name: String, loop: EventLoop, address: Bus.Address, passed: [ServiceManager.ListenDescriptor]) {
    (self.name, self.loop, self.address) = (name, loop, address)
    former = passed.filter(Self.isOne)
  }

  /// Whether a descriptor is one that a daemon had the service manager keep.
  static func isOne(_ descriptor: ServiceManager.ListenDescriptor) -> Bool { descriptor.name.hasPrefix(prefix) }

  /// Whether a former daemon left such a connection, from which the present daemon may take the name.
  var hasFormer: Bool { !former.isEmpty }

  /// Notes that the daemon owns the name on this connection, and watches the queue from now on.
  func hold(for bus: Bus) {
    self.bus = bus
    // Looks again whenever a program takes any name: the bus does not announce a program that only waits for our name.
    watch = try? bus.matchSignal(
      sender: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
      member: "NameOwnerChanged", arg0Namespace: "org", installed: { [weak self] _ in self?.look() }
    ) { [weak self] _ in self?.lookTwice() }
  }

  /// Notes that the daemon does not own the name.
  func leave() {
    (bus, watch, later) = (nil, nil, nil)
    othersWait = false
    giveUp()
    dropFormer()
  }

  private func lookTwice() {
    look()
    guard later == nil else { return }
    later = try? loop.addTimer(after: Self.pause) { [weak self] in
      self?.later = nil
      self?.look()
    }
  }

  /// Puts the second connection into the queue, in front of all others.
  private func look() {
    guard let bus else { return }
    try? bus.queuedOwners(of: name) { [weak self] result in
      guard let self, let bus = self.bus, case .success(let queue) = result, queue.first == bus.uniqueName else {
        return
      }
      othersWait = queue.contains { $0 != bus.uniqueName && $0 != self.connection?.uniqueName }
      if othersWait {
        waitAgainIfNeeded(isNext: queue.dropFirst().first == connection?.uniqueName)
      } else {
        hasMoved = false
        giveUp()
        dropFormer()
      }
    }
  }

  /// dbus-daemon puts a new connection first, and leaves a connection that waits in its place. dbus-broker puts each connection
  /// last. So a new connection replaces one that is not next in the queue, but only once before one is next.
  private func waitAgainIfNeeded(isNext: Bool) {
    guard connection != nil else { return wait() }
    guard !isNext else {
      hasMoved = false
      return
    }
    guard isKept, !hasMoved else { return }
    hasMoved = true
    giveUp()
    wait()
  }

  private func wait() {
    guard ServiceManager.isPresent else { return }
    do throws(SystemdError) {
      if connection == nil {
        let new = try Bus(address, loop: loop)
        try new.onDisconnect { [weak self] in self?.giveUp() }
        connection = new
      }
    } catch { return }
    // A connection that asks to replace the owner is first in the queue, even if it cannot replace the owner.
    try? connection?.requestNameAsync(name, allowReplacement: true, replaceExisting: true, queueing: true) {
      [weak self] result in
      guard let self, let connection, case .success(.queued) = result else {
        self?.giveUp()
        return
      }
      if !isKept {
        isKept = ServiceManager.keep(connection.descriptor, as: Self.keptName)
        if !isKept {
          Journal.log(.warning, "the service manager does not keep the place of \(name) for the next daemon")
        }
      }
      guard hasFormer else { return }
      dropFormer()
      // Perhaps only a connection of a former daemon waited.
      lookTwice()
    }
  }

  private func giveUp() {
    if isKept { ServiceManager.drop(Self.keptName) }
    isKept = false
    connection = nil
  }

  private func dropFormer() {
    for descriptor in former {
      ServiceManager.drop(descriptor.name)
      _ = FileDescriptor(owning: descriptor.fd)
    }
    former = []
  }
}
