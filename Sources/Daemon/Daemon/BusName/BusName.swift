import LatchkeySystemd

/// A well-known name on the session bus that the daemon wants. The daemon requests the name without queueing, and again when the
/// name becomes free. If the former daemon left a place in the queue, the daemon takes the name from there.
final class BusName {
  let name: String
  /// The consequence if another program owns the name, for a person.
  private let consequence: String
  private let place: NamePlace?
  private weak var bus: Bus?
  private var watch: BusSlot?
  private var answered: (Bool) -> Void = { _ in }
  private var saidThatItIsTaken = false
  /// The name's owner: "latchkeyd", "nobody", or another program's bus name.
  private(set) var owner = "nobody"
  var isOurs: Bool { owner == BusName.ourselves }

  private static let ourselves = "latchkeyd"

  /// - Parameter place: keeps the name for the next daemon.
  init(_ name: String, consequence: String, place: NamePlace? = nil) {
    self.name = name
    self.place = place
    self.consequence = consequence
  }

  /// Requests the name on a connection, for as long as that exists. At each answer of the bus, `answered` hears whether the name is
  /// ours.
  func claim(on bus: Bus, answered: @escaping (Bool) -> Void) throws(SystemdError) {
    self.bus = bus
    self.answered = answered
    watch = try bus.matchSignal(
      sender: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
      member: "NameOwnerChanged", arg0: name
    ) { [weak self] (message: Message) throws(BusError) in
      _ = try message.readString()
      _ = try message.readString()
      let owner = try message.readString()
      guard let self, owner != self.bus?.uniqueName else { return }
      if owner.isEmpty { request() } else { self.owner = owner }
    }
    request()
  }

  /// Forgets the connection, which is lost.
  func forget() {
    place?.leave()
    (watch, bus) = (nil, nil)
    owner = "nobody"
  }

  private func request() {
    try? bus?.requestNameAsync(name, replaceExisting: place?.hasFormer ?? false) { [weak self] result in
      guard let self else { return }
      switch result {
      case .success(.owned), .success(.alreadyOwned):
        owner = BusName.ourselves
        if let bus { place?.hold(for: bus) }
        answered(true)
      case .success:
        place?.leave()
        answered(false)
        isTaken()
      case .failure(let error): Journal.log(.warning, "the bus did not give \(name): \(error)")
      }
    }
  }

  /// Another program owns the name. The journal says so once, and the daemon takes the name when it becomes free.
  private func isTaken() {
    try? bus?.nameOwner(of: name) { [weak self] result in
      guard let self, case .success(let owner?) = result else { return }
      self.owner = owner
      guard !saidThatItIsTaken else { return }
      saidThatItIsTaken = true
      Journal.log(
        .warning, "another program (\(owner)) owns \(name), so \(consequence); stop it and Latchkey takes over")
    }
  }
}
