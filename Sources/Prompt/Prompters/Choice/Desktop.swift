/// The displays that the environment names. Desktops pass theirs to the user manager, whose environment every unit gets.
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
