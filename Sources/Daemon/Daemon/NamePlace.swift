import Glibc
import LatchkeyPosix
import LatchkeySystemd

/// The place in the queue for a bus name right behind the daemon, kept for the daemon that comes after it.
///
/// A program that waits for the name, as gnome-keyring does, would get it the moment that the daemon ends. While one waits, a
/// second connection of the daemon waits before it, and the service manager keeps that connection's descriptor. So a crash or a
/// restart leaves the name to this connection, and the next daemon takes it from there. Calls that come in between get an error.
///
/// Where no other program waits there is no such connection: then the bus keeps calls until the next daemon is there.
final class NamePlace {
  private let name: String
  private let loop: EventLoop
  private let address: Bus.Address
  /// Connections that former daemons left with the service manager.
  private var former: [ServiceManager.ListenDescriptor]
  private weak var bus: Bus?
  private var watch: BusSlot?
  private var later: EventSource?
  private var connection: Bus?
  /// Whether the service manager has the connection.
  private(set) var isKept = false
  /// Whether another program waits for the name.
  private(set) var othersWait = false
  /// Whether a new connection took the place of one that was not the next, and has not been seen as the next one since.
  private var hasMoved = false

  /// The prefix of the descriptors' names.
  private static let prefix = "name-place-"
  private static let keptName = "\(prefix)\(getpid())"
  /// A program takes the name by which it is known a moment before it asks for this one.
  private static let pause = Duration.seconds(1)

  /// - Parameter passed: the descriptors that the service manager passed to this program.
  init(_ name: String, loop: EventLoop, address: Bus.Address, passed: [ServiceManager.ListenDescriptor]) {
    (self.name, self.loop, self.address) = (name, loop, address)
    former = passed.filter(Self.isOne)
  }

  /// Whether a descriptor is one that a daemon had the service manager keep.
  static func isOne(_ descriptor: ServiceManager.ListenDescriptor) -> Bool { descriptor.name.hasPrefix(prefix) }

  /// Whether a former daemon left one, from which the name may be taken.
  var hasFormer: Bool { !former.isEmpty }

  /// The daemon owns the name on this connection: sees to it who waits from now on.
  func hold(for bus: Bus) {
    self.bus = bus
    // Each program that has a name of its own: one that only waits for ours is not announced.
    watch = try? bus.matchSignal(
      sender: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
      member: "NameOwnerChanged", arg0Namespace: "org", installed: { [weak self] _ in self?.look() }
    ) { [weak self] _ in self?.lookTwice() }
  }

  /// The daemon does not own the name.
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

  /// Waits before the others, if there are any.
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

  /// dbus-daemon puts a new connection first, and one that waits already stays where it is. dbus-broker puts each one last. So a
  /// place that is not the next one is given up for a new one, but only once until that helps.
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
    // One that would replace the owner waits as the first, also where the owner cannot be replaced.
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
      // One of a former daemon was perhaps all that waited.
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
