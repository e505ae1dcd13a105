/// The user's desktops, and the lockers in front of them.
extension SessionMachine {
  /// The lockers that are up, for `latchkey status`.
  public var lockers: [String] {
    let hints = sessions.values.filter { $0.isBehindLocker }.map {
      $0.facts.lockedHint ? "LockedHint of session \($0.facts.id)" : "greeter before session \($0.facts.id)"
    }
    return hints.sorted() + activeScreenSavers.sorted().map { "screen saver \($0)" }
  }

  /// Whether the user has a desktop, locked or not.
  public var hasGraphicalSession: Bool { sessions.values.contains { $0.facts.isGraphical } }

  /// The PAM services that opened the user's desktops over the network. Empty if a desktop is at this machine, because a password
  /// from the network must not unlock behind its locked screen. A text login does not count as a desktop here, even after `startx`:
  /// the person may have left the machine, and work over the network now.
  public var remoteDesktopServices: Set<String> {
    let desktops = sessions.values.map(\.facts).filter(\.isGraphical)
    return desktops.allSatisfy(\.isRemote) ? Set(desktops.map(\.service)) : []
  }
}
