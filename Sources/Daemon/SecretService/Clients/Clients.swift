import LatchkeySystemd

/// Hears of clients that have left.
protocol ClientObserver: AnyObject {
  func clientVanished(_ client: String)
}

/// The clients that own something here. An object ends when the client that owns it leaves.
final class Clients {
  private let bus: Bus
  private var slots: [String: BusSlot] = [:]
  weak var observer: (any ClientObserver)?

  init(_ bus: Bus) { self.bus = bus }

  /// Remembers that `client`, a unique bus name, owns something.
  func watch(_ client: String) {
    guard slots[client] == nil else { return }
    slots[client] = try? bus.watchPeer(client) { [weak self] in
      self?.slots[client] = nil
      self?.observer?.clientVanished(client)
    }
  }
}
