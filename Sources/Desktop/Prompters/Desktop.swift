/// What there is to show something on, as the environment says it. Desktops tell theirs to the user manager, of which a
/// unit's environment is.
public struct Desktop: Equatable, Sendable {
  /// Whether there is a display.
  let hasDisplay: Bool
  /// Whether it is Plasma.
  let isPlasma: Bool

  /// Reads what `variable` gives for the name of a variable.
  public init(_ variable: (String) -> String?) {
    hasDisplay = ["DISPLAY", "WAYLAND_DISPLAY"].contains { !(variable($0) ?? "").isEmpty }
    isPlasma = (variable("XDG_CURRENT_DESKTOP") ?? "").split(separator: ":").contains { $0.uppercased() == "KDE" }
  }
}
