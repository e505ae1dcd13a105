import LatchkeyGettext
import LatchkeyText

/// Another program that can keep the session's secrets, and the ways in which that program starts.
package struct Provider: Sendable {
  /// A line of the provider's settings that says whether the provider offers secrets.
  package struct Setting: Sendable {
    /// The path below the home folder.
    package let file: String
    /// The file that counts for users who have no such line in their own file; nil if the program reads no such file.
    package let machineFile: String?
    package let section: String
    package let key: String
    /// The value with which the provider offers no secrets.
    package let off: String
    /// Whether the program offers secrets if the line is missing.
    package let isOnByDefault: Bool
    /// The program that reads the line, if older versions lack the setting.
    package let reader: String?

    /// The effective value, and its file: the person's file, or else the file for all users; nil if neither has the line.
    func source(_ root: SystemRoot, home: String?) -> (path: String, value: String)? {
      let files = [home.map { "\($0)/\(file)" }, machineFile].compactMap { $0 }
      return files.lazy.compactMap { path in
        SettingsText(root.lines(path).joined(separator: "\n")).value(key, in: section).map { (path, $0) }
      }.first
    }

    /// Whether the program offers secrets.
    package func isOn(_ root: SystemRoot, home: String?) -> Bool {
      source(root, home: home).map { $0.value != off } ?? isOnByDefault
    }
  }

  /// A method without arguments that ends the program after it has saved its data.
  package struct Ending: Sendable {
    package let path: String
    package let interface: String
    package let member: String
  }

  package let id: String
  /// The provider's name in English, for records.
  package let name: String
  /// The provider's name for a person.
  package var title: String { id == "bus-activated" ? translated("the service \(units[0])") : name }
  /// The names of the provider's processes, cut to the 15 letters that the kernel keeps.
  package let processes: [String]
  /// The provider's units in the user's manager.
  package let units: [String]
  package let settings: [Setting]
  /// The provider's programs.
  package let programs: [String]
  /// Other bus names for which the bus starts the program, which then also offers secrets.
  package let otherNames: [String]
  package let ending: Ending?

  private init(
    _ id: String, _ name: String, processes: [String], units: [String] = [], settings: [Setting] = [],
    programs: [String], otherNames: [String] = [], ending: Ending? = nil
  ) {
    (self.id, self.name, self.processes, self.units) = (id, name, processes, units)
    (self.settings, self.programs, self.otherNames, self.ending) = (settings, programs, otherNames, ending)
  }

  /// The fix that makes Latchkey the only provider. One command serves for all providers, because a person with two providers is
  /// asked twice.
  static func fix(_ root: SystemRoot) -> Finding.Fix { .command(ShellCommand(line: takeOver(root))) }

  static func takeOver(_ root: SystemRoot) -> String {
    let machine = MachineSwitch(root: root)
    return machine.isMaskedWithRecord ? machine.unmask : "latchkey switch --to latchkey"
  }

  package static let all: [Provider] = [
    Provider(
      "gnome-keyring", "gnome-keyring", processes: ["gnome-keyring-d"],
      units: ["gnome-keyring-daemon.socket", "gnome-keyring-daemon.service"], programs: ["gnome-keyring-daemon"],
      otherNames: ["org.gnome.keyring"]),
    Provider(
      "kwallet", "KWallet", processes: ["kwalletd5", "kwalletd6", "ksecretd"],
      settings: [
        Setting(
          file: ".config/kwalletrc", machineFile: "/etc/xdg/kwalletrc", section: "org.freedesktop.secrets",
          key: "apiEnabled", off: "false", isOnByDefault: true, reader: nil),
        // Without this setting, KDE's programs keep using files of their own, apart from the session's secrets.
        Setting(
          file: ".config/kwalletrc", machineFile: "/etc/xdg/kwalletrc", section: "KSecretD", key: "Enabled",
          off: "false", isOnByDefault: true, reader: "ksecretd"),
      ],
      programs: ["kwalletd5", "kwalletd6", "ksecretd"],
      ending: Ending(path: "/MainApplication", interface: "org.qtproject.Qt.QCoreApplication", member: "quit")),
    Provider(
      "keepassxc", "KeePassXC", processes: ["keepassxc"],
      settings: [
        Setting(
          file: ".config/keepassxc/keepassxc.ini", machineFile: nil, section: "FdoSecrets", key: "Enabled",
          off: "false", isOnByDefault: false, reader: nil),
        Setting(
          file: ".var/app/org.keepassxc.KeePassXC/config/keepassxc/keepassxc.ini", machineFile: nil,
          section: "FdoSecrets", key: "Enabled", off: "false", isOnByDefault: false, reader: nil),
      ],
      programs: ["keepassxc"],
      ending: Ending(path: "/keepassxc", interface: "org.keepassxc.KeePassXC.MainWindow", member: "appExit")),
    Provider(
      "oo7", "oo7", processes: ["oo7-daemon"], units: ["oo7-daemon.service", "oo7-daemon.socket"],
      programs: ["oo7-daemon"]),
    Provider(
      "pass-secret-service", "pass-secret-service", processes: ["pass_secret_ser", "pass-secret-ser"],
      units: ["pass-secret-service.service", "org.freedesktop.secrets.service"],
      programs: ["pass_secret_service", "pass-secret-service"]),
    // Fedora's oo7 and others are started by the bus under this name.
    Provider(
      "bus-activated", "the service dbus-org.freedesktop.secrets.service", processes: [],
      units: ["dbus-org.freedesktop.secrets.service"], programs: []),
  ]

  /// The provider that a process belongs to.
  package static func of(process name: String) -> Provider? { all.first { $0.processes.contains(name) } }

  /// Whether the provider is on this machine.
  package func isInstalled(_ root: SystemRoot, searchPath: [String]) -> Bool {
    programs.contains { has(program: $0, root, searchPath) }
      || units.contains { UnitFiles(root: root, home: nil).path($0) != nil }
  }

  /// The settings that count on this machine.
  package func settings(_ root: SystemRoot, searchPath: [String]) -> [Setting] {
    settings.filter { setting in setting.reader.map { has(program: $0, root, searchPath) } ?? true }
  }

  private func has(program: String, _ root: SystemRoot, _ searchPath: [String]) -> Bool {
    path(of: program, root, searchPath) != nil
  }

  private func path(of program: String, _ root: SystemRoot, _ searchPath: [String]) -> String? {
    (searchPath + ["/usr/bin", "/usr/libexec", "/usr/lib"]).map { "\($0)/\(program)" }.first { root.contains($0) }
  }

  /// Whether a command line starts the provider with its part for secrets. gnome-keyring has other parts, such as an agent for ssh.
  package func offersSecrets(_ command: String) -> Bool {
    let words = command.split(whereSeparator: { " \t".contains($0) }).map { $0.filter { !"\"'".contains($0) } }
    guard words.contains(where: { word in programs.contains { word == $0 || word.hasSuffix("/\($0)") } }) else {
      return false
    }
    return KeyringComponents(command)?.haveSecrets ?? true
  }

  /// Files in folders of programs that start with the session, by which it offers secrets. The person's own file overrides the
  /// file of all users.
  ///
  /// - Parameter home: the person's home folder; nil for the files of all users alone.
  package func autostart(_ root: SystemRoot, home: String?) -> [(name: String, path: String, command: String)] {
    guard settings.isEmpty else { return [] }
    let folders = (home.map { ["\($0)/.config/autostart"] } ?? []) + ["/etc/xdg/autostart"]
    return Set(folders.flatMap { root.names(in: $0) }).filter { $0.hasSuffix(".desktop") }.sorted().compactMap { name in
      let paths = folders.map { "\($0)/\(name)" }.filter { root.contains($0) }
      guard let path = paths.first else { return nil }
      let lines = root.lines(path)
      if lines.contains(where: { $0.filter { $0 != " " } == "Hidden=true" }) { return nil }
      let commands = paths.flatMap { root.lines($0) }.filter { $0.hasPrefix("Exec=") }.map { String($0.dropFirst(5)) }
      guard let command = commands.first, offersSecrets(command) else { return nil }
      return (name, path, command)
    }
  }

  /// Whether a unit, when started, makes the provider offer secrets.
  package func offersSecrets(unit: String, _ files: UnitFiles) -> Bool {
    let service = unit.hasSuffix(".socket") ? unit.dropLast(".socket".count) + ".service" : unit
    guard files.mask(unit) == nil, files.mask(service) == nil, files.path(unit) != nil else { return false }
    let commands = files.commands(in: files.sources(service))
    // A unit whose files cannot be read counts because of its name.
    return commands.isEmpty || programs.isEmpty || commands.contains(where: offersSecrets)
  }

  /// The files that start the provider or make it offer the service, for a person; empty if no file does.
  package func enabling(_ root: SystemRoot, home: String, searchPath: [String]) -> [String] {
    let files = UnitFiles(root: root, home: home)
    var found = units.filter { files.isWanted($0) && offersSecrets(unit: $0, files) }
    found += autostart(root, home: home).map(\.path)
    for setting in settings(root, searchPath: searchPath) where isInstalled(root, searchPath: searchPath) {
      guard setting.isOn(root, home: home) else { continue }
      let program = programs.lazy.compactMap { path(of: $0, root, searchPath) }.first ?? name
      let place = setting.source(root, home: home)?.path ?? translated("\(program), by default")
      if !found.contains(place) { found.append(place) }
    }
    return found
  }
}
