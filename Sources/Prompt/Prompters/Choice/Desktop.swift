/// The displays that the environment names. Desktops pass their displays to the user's systemd, which puts them into the
/// environment of every unit.
public struct Desktop: Equatable, Sendable {
  /// Whether there is a display.
  let hasDisplay: Bool
  /// Whether the desktop is Plasma.
  let isPlasma: Bool

  /// Reads the environment by `variable`, which returns the value of a variable.
  public init(_ variable: (String) -> String?) {
    hasDisplay = ["DISPLAY", "WAYLAND_DISPLAY"].contains { !(variable($0) ?? "").isEmpty }
    isPlasma = (variable("XDG_CURRENT_DESKTOP") ?? "").split(separator: ":").contains { $0.uppercased() == "KDE" }
  }
}
