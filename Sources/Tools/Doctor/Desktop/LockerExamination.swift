import LatchkeyGettext
import LatchkeyText

/// Checks how the vault learns that the screen is locked.
struct LockerExamination {
  let root: SystemRoot
  let facts: DesktopFacts

  /// Programs that announce the lock themselves, by logind or the bus. The names are as short as the kernel shows them.
  private static let announcers: Set<String> = [
    "gnome-shell", "ksmserver", "kwin_wayland", "kwin_x11", "xss-lock", "swayidle", "hypridle", "xscreensaver",
    "mate-screensave", "cinnamon-screen", "cinnamon", "xfce4-screensav", "light-locker", "gnome-screensav", "phosh",
    "cosmic-session", "cosmic-idle", "budgie-wm", "ukui-screensave", "xautolock-logi", "stasis", "quickshell",
  ]
  /// Lockers that announce nothing.
  private static let silent: Set<String> = [
    "swaylock", "i3lock", "i3lock-color", "xsecurelock", "slock", "hyprlock", "waylock", "gtklock", "xlock", "xtrlock",
    "physlock", "vlock", "betterlockscreen", "i3lock-fancy", "swaylock-effects", "schlock",
  ]
  /// Files in which small desktops list the programs to run.
  private static let settings = [
    "sway/config", "i3/config", "hypr/hyprland.conf", "hypr/hypridle.conf", "river/init", "niri/config.kdl",
    "openbox/rc.xml", "openbox/autostart", "bspwm/bspwmrc", "sxhkd/sxhkdrc", "labwc/rc.xml", "labwc/autostart",
    "awesome/rc.lua", "qtile/config.py", "swayidle/config", "wayfire.ini", "dwl/config",
  ]

  /// Names on the bus whose owners tell when the screen is locked.
  private static let savers = [
    "org.gnome.ScreenSaver", "org.mate.ScreenSaver", "org.cinnamon.ScreenSaver", "org.xfce.ScreenSaver",
  ]

  /// Files by which the system bus finds polkit; the last one is for NixOS.
  private static let polkit = [
    "/usr/share/dbus-1/system-services/org.freedesktop.PolicyKit1.service",
    "/run/current-system/sw/share/dbus-1/system-services/org.freedesktop.PolicyKit1.service",
  ]

  func findings() -> [Finding] { [news(), locker()] + sleep() }

  /// Checks whether the vault hears of sessions at all.
  private func news() -> Finding {
    let id = "lock-news"
    switch facts.vault {
    case .unknown(let why): return .unknown(id, why)
    case .known(let vault):
      if vault.lockSources.contains("logind") { return .ok(id, PAMExamination.list(vault.lockSources)) }
      return Finding(
        id, .broken,
        translated("the vault gets no messages from logind, so it misses locked screens, sleep and logouts"),
        fix: .command("sudo systemctl start dbus.service systemd-logind.service"))
    }
  }

  /// Without polkit, logind lets only root hold up sleep.
  private func sleep() -> [Finding] {
    guard let vault = facts.vault.value, vault.lockSources.contains("logind"),
      !LockerExamination.polkit.contains(where: root.contains)
    else { return [] }
    return [
      Finding(
        "sleep", .warning,
        translated("polkit is not installed, so latchkeyd is not allowed to delay sleep until it has erased the keys"),
        fix: Distribution(root).installing(debian: "polkitd", fedora: "polkit", arch: "polkit", suse: "polkit")
          ?? .advice(translated("Install polkit, then log out and in again.")))
    ]
  }

  private func locker() -> Finding {
    let id = "locker"
    guard isGraphical else {
      return .ok(id, translated("no graphical session here; 'latchkey lock' and logout lock the vault"))
    }
    let processes = RunningProcess.all(of: facts.uid, in: root)
    let bare = bareUse(processes)
    if let bare {
      return Finding(
        id, .warning,
        translated("\(bare.place) starts \(bare.program), which does not announce that it locks the screen"),
        fix: .advice(translated("Replace '\(bare.program)' there with: latchkey lock; \(bare.program)")))
    }
    if let name = Self.savers.first(where: { facts.ownedNames.contains($0) }) {
      return .ok(id, translated("\(name) announces when the screen is locked"))
    }
    if let known = processes.first(where: { Self.announcers.contains($0.name) }) {
      return .ok(id, translated("\(known.name) announces when the screen is locked"))
    }
    return Finding(
      id, .warning,
      translated("no running program is known to announce a locked screen, so the vault may stay unlocked"),
      fix: .advice(
        translated(
          """
          Put 'latchkey lock;' before the command that locks your screen, or start the locker from xss-lock or \
          swayidle.
          """)
      ))
  }

  /// Whether the person has a session with a screen, according to logind's files.
  private var isGraphical: Bool {
    root.names(in: "/run/systemd/sessions").contains { name in
      let lines = root.lines("/run/systemd/sessions/\(name)")
      return lines.contains("UID=\(facts.uid)") && lines.contains { $0 == "TYPE=x11" || $0 == "TYPE=wayland" }
        && lines.contains("CLASS=user")
    }
  }

  /// A locker that runs, or will be run, without telling the vault.
  private func bareUse(_ processes: [RunningProcess]) -> (program: String, place: String)? {
    for process in processes where Self.silent.contains(process.name) {
      var parent = process.parent
      var isTold = false
      // The search ends at the session's first process.
      for _ in 0..<8 {
        guard let above = processes.first(where: { $0.id == parent }) else { break }
        isTold =
          isTold || Self.announcers.contains(above.name)
          || above.arguments.contains { $0.contains(text: "latchkey lock") }
        parent = above.parent
      }
      if !isTold { return (process.name, translated("process \(process.parent)")) }
    }
    for name in Self.settings {
      let path = "\(facts.home)/.config/\(name)"
      for line in root.lines(path) {
        let words = line.split { !($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
        guard let first = words.first, !line.drop(while: { $0 == " " || $0 == "\t" }).hasPrefix("#"),
          first != "for_window",
          let program = words.first(where: { Self.silent.contains(String($0)) }),
          !line.contains(text: "latchkey lock"), !words.contains("xss-lock"), !words.contains("swayidle"),
          !line.contains(text: "loginctl lock-session"), !name.hasPrefix("swayidle/"), !name.hasSuffix("hypridle.conf")
        else { continue }
        return (String(program), path)
      }
    }
    return nil
  }
}
