import LatchkeySystemd

/// Listens on the session bus for `ActiveChanged` of any screen saver interface (org.freedesktop.ScreenSaver,
/// org.gnome.ScreenSaver, org.mate.ScreenSaver, org.cinnamon.ScreenSaver, org.kde.screensaver, org.xfce.ScreenSaver …) from any
/// sender, and asks the present savers whether they are active now.
public final class ScreenSaverWatch {
  /// The events that the watch reports.
  public enum Report: Equatable, Sendable {
    /// A saver became active or inactive, by the sender's unique name.
    case active(peer: String, Bool)
    /// A saver answered for the first time that it is active.
    case found(peer: String)
    /// A peer with an active screen saver has left the bus.
    case vanished(peer: String)
  }

  private let bus: Bus
  private let handler: (Report) -> Void
  private var match: BusSlot?
  private var peers: [String: BusSlot] = [:]

  /// Savers that can be asked, and the paths of their objects.
  private static let known = [
    ("org.freedesktop.ScreenSaver", "/org/freedesktop/ScreenSaver"),
    ("org.freedesktop.ScreenSaver", "/ScreenSaver"),
    ("org.gnome.ScreenSaver", "/org/gnome/ScreenSaver"),
    ("org.mate.ScreenSaver", "/"),
    ("org.cinnamon.ScreenSaver", "/org/cinnamon/ScreenSaver"),
    ("org.xfce.ScreenSaver", "/org/xfce/ScreenSaver"),
  ]

  /// Listens on `bus` once started.
  public init(bus: Bus, handler: @escaping (Report) -> Void) {
    self.bus = bus
    self.handler = handler
  }

  /// Throws if the bus cannot be reached. A rule that the bus refuses ends the connection.
  public func start() throws(SystemdError) {
    match = try bus.matchSignal(
      member: "ActiveChanged",
      handler: { [weak self] message throws(BusError) in
        // KDE writes the name in small letters.
        guard let interface = message.interface, interface.lowercased().hasSuffix(".screensaver"),
          let sender = message.sender
        else { return }
        self?.changed(sender, active: try message.readBool())
      })
    // The bus accepts the rule before it passes on these calls, so we miss no change after the answer.
    askThoseThatAreThere()
  }

  private func askThoseThatAreThere() {
    for (name, path) in Self.known {
      // A screen saver that cannot be asked counts as missing.
      try? bus.callAsync(
        destination: name, path: path, interface: name, member: "GetActive", autoStart: false
      ) { [weak self] reply in
        guard case .success(let message) = reply, let sender = message.sender, (try? message.readBool()) == true else {
          return
        }
        self?.found(sender)
      }
    }
  }

  private func changed(_ peer: String, active: Bool) {
    if active { watch(peer) } else { peers[peer] = nil }
    handler(.active(peer: peer, active))
  }

  private func found(_ peer: String) {
    watch(peer)
    handler(.found(peer: peer))
  }

  private func watch(_ peer: String) {
    guard peers[peer] == nil else { return }
    // A peer that cannot be watched stays active until the peer says otherwise.
    peers[peer] = try? bus.watchPeer(peer) { [weak self] in
      self?.peers[peer] = nil
      self?.handler(.vanished(peer: peer))
    }
  }
}
