import LatchkeyDoctor

/// The users of a switch, and so the files that it changes.
public enum SwitchScope: Equatable, Sendable {
  /// The person with this home folder, by files in it.
  case person(home: String)
  /// All users of the machine, by files of root's. Nothing in a home folder is touched.
  case allUsers
  /// The screen lockers of the machine: a finger at the lock screen opens the vault. Providers stay.
  case lockers

  /// The home folder; nil for all users.
  public var home: String? {
    guard case .person(let home) = self else { return nil }
    return home
  }

  /// Files by which desktops start programs with each session.
  var autostart: String { place("/.config/autostart", or: "/etc/xdg/autostart") }
  /// Units of the user managers.
  var units: String { place("/.config/systemd/user", or: "/etc/systemd/user") }
  /// Files by which the session bus starts programs. Packages have theirs in /usr/share, which the bus reads after this folder.
  var busServices: String { place("/.local/share/dbus-1/services", or: "/usr/local/share/dbus-1/services") }
  /// Files that say which backend each desktop's portals use.
  var portals: String { place("/.config/xdg-desktop-portal", or: "/etc/xdg/xdg-desktop-portal") }

  /// The file with the record of the changes. XDG_STATE_HOME does not count, as with the vault's own folder. The record for
  /// all users is beside the other files of /etc, so that a copy of /etc has the changes and the way back.
  var record: String {
    self == .lockers
      ? "/etc/latchkey/finger.json" : place("/.local/state/latchkey/switch.json", or: MachineSwitch.record)
  }
  /// The folder whose lock keeps two runs apart.
  var lockFolder: String { home ?? "/etc" }

  /// The settings file of a provider; nil if the provider reads no such file for all users.
  func file(of setting: Provider.Setting) -> String? { home.map { "\($0)/\(setting.file)" } ?? setting.machineFile }

  /// The mode of a new settings file.
  var settingsMode: UInt32 { home == nil ? 0o644 : 0o600 }

  private func place(_ own: String, or shared: String) -> String { home.map { $0 + own } ?? shared }
}
