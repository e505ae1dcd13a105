/// Another program that can keep the session's secrets.
struct Provider {
  let id: String
  let title: String
  /// How its processes are called, cut to the 15 letters that the kernel keeps.
  let processes: [String]
  /// Its units in the user's manager.
  let units: [String]
  /// Its files in folders of programs that start with the session.
  let autostart: [String]
  /// Where its own settings say whether it offers the service, below the home folder: file, section, and the line.
  let setting: (file: String, section: String, line: String, byDefault: Bool)?
  /// Its programs.
  let programs: [String]
  /// What keeps it from offering the service.
  let fix: Finding.Fix

  static let all: [Provider] = [
    Provider(
      id: "gnome-keyring", title: "gnome-keyring", processes: ["gnome-keyring-d"],
      units: ["gnome-keyring-daemon.socket", "gnome-keyring-daemon.service"],
      autostart: ["gnome-keyring-secrets.desktop"],
      setting: nil, programs: ["gnome-keyring-daemon"],
      fix: .command(
        "systemctl --user mask --now gnome-keyring-daemon.socket gnome-keyring-daemon.service && mkdir -p"
          + " ~/.config/autostart && printf '%s\\n' '[Desktop Entry]' Type=Application Name=off Hidden=true"
          + " >~/.config/autostart/gnome-keyring-secrets.desktop && { pkill -x gnome-keyring-d;"
          + " systemctl --user start latchkeyd.socket latchkeyd.service; }")),
    Provider(
      id: "kwallet", title: "KWallet", processes: ["kwalletd5", "kwalletd6", "ksecretd"], units: ["ksecretd.service"],
      autostart: [], setting: (".config/kwalletrc", "org.freedesktop.secrets", "apiEnabled=false", true),
      programs: ["kwalletd5", "kwalletd6", "ksecretd"],
      fix: .command(
        "printf '%s\\n' '' '[org.freedesktop.secrets]' apiEnabled=false >>~/.config/kwalletrc"
          + " && { pkill -x 'ksecretd|kwalletd[56]'; systemctl --user start latchkeyd.socket latchkeyd.service; }")),
    Provider(
      id: "keepassxc", title: "KeePassXC", processes: ["keepassxc"], units: [], autostart: [],
      setting: (".config/keepassxc/keepassxc.ini", "FdoSecrets", "Enabled=true", false), programs: ["keepassxc"],
      fix: .advice("In KeePassXC's settings, 'Secret Service Integration', take the tick away; then start it anew.")),
    Provider(
      id: "oo7", title: "oo7", processes: ["oo7-daemon"], units: ["oo7-daemon.service", "oo7-daemon.socket"],
      autostart: [],
      setting: nil, programs: ["oo7-daemon"],
      fix: .command(
        "systemctl --user mask --now oo7-daemon.service oo7-daemon.socket;"
          + " pkill -x oo7-daemon; systemctl --user start latchkeyd.socket latchkeyd.service")),
    Provider(
      id: "pass-secret-service", title: "pass-secret-service", processes: ["pass_secret_ser", "pass-secret-ser"],
      units: ["pass-secret-service.service", "dbus-org.freedesktop.secrets.service"], autostart: [], setting: nil,
      programs: ["pass_secret_service", "pass-secret-service"],
      fix: .command(
        "systemctl --user mask --now pass-secret-service.service; pkill -x 'pass.secret.ser';"
          + " systemctl --user start latchkeyd.socket latchkeyd.service")),
  ]

  /// Whether it is on this machine.
  func isInstalled(_ root: SystemRoot, _ facts: SessionFacts) -> Bool {
    programs.contains { name in
      (facts.searchPath + ["/usr/libexec", "/usr/lib"]).contains { root.contains("\($0)/\(name)") }
    } || units.contains { UnitFiles(root: root, home: nil).path($0) != nil }
  }

  /// What starts it or has it offer the service; empty where nothing does.
  func enabling(_ root: SystemRoot, _ facts: SessionFacts) -> [String] {
    let files = UnitFiles(root: root, home: facts.home)
    var found = units.filter { files.mask($0) == nil && files.isWanted($0) }
    for name in autostart {
      // The person's own file takes the place of that of all users.
      let folders = ["\(facts.home)/.config/autostart", "/etc/xdg/autostart"]
      guard let path = folders.map({ "\($0)/\(name)" }).first(where: { root.contains($0) }) else { continue }
      if !root.lines(path).contains(where: { $0.filter { $0 != " " } == "Hidden=true" }) { found.append(path) }
    }
    if let setting, isInstalled(root, facts) {
      let path = "\(facts.home)/\(setting.file)"
      if Provider.has(setting.line, in: setting.section, of: root.lines(path)) != setting.byDefault {
        found.append(path)
      }
    }
    return found
  }

  /// Whether a section of a settings file has a line.
  private static func has(_ line: String, in section: String, of lines: [Substring]) -> Bool {
    var isInside = false
    for one in lines {
      let text = one.filter { $0 != " " && $0 != "\r" }
      if text.hasPrefix("[") { isInside = text == "[\(section)]" }
      if isInside && text == line { return true }
    }
    return false
  }
}
