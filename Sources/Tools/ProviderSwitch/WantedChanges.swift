import Glibc
import LatchkeyDoctor
import LatchkeyGettext
import LatchkeyPosix
import LatchkeyText

/// Finds everything that starts another provider of secrets, and collects the changes that prevent each such start.
struct WantedChanges {
  let root: SystemRoot
  let person: ProviderSwitch.Person
  let files: OwnedFiles

  /// The files that the record puts back first.
  var returning: Set<String> = []
  private(set) var changes: [FileChange] = []
  private(set) var obstacles: [String] = []
  private(set) var notes: [String] = []

  private var side = FileChange.Side.toLatchkey

  private static let name = "org.freedesktop.secrets"
  var scope: SwitchScope { person.scope }
  private var units: UnitFiles { UnitFiles(root: root, home: scope.home) }

  init(root: SystemRoot, person: ProviderSwitch.Person, files: OwnedFiles) {
    (self.root, self.person, self.files) = (root, person, files)
  }

  // MARK: To Latchkey

  /// Adds the changes that make Latchkey the only provider.
  mutating func takeOver() {
    checkGround()
    for provider in Provider.all where provider.isInstalled(root, searchPath: person.searchPath) {
      keepFromStarting(provider)
      turnOff(provider)
    }
    takeKWalletNames()
    PortalRouting(root: root, scope: scope).addChanges(to: &self)
    if person.takesAgent { takeOverAgent() }
    if scope == .allUsers, !changes.isEmpty {
      note(
        translated(
          """
          The change takes effect at each user's next login. Files in home folders stay as they are: a user whose own \
          settings start another program runs 'latchkey switch --to latchkey' too.
          """))
    }
  }

  /// The units of gcr's ssh agent.
  private static let agentUnits = ["gcr-ssh-agent.socket", "gcr-ssh-agent.service"]
  /// The file by which desktops start gnome-keyring's ssh agent.
  private static let agentAutostart = "gnome-keyring-ssh.desktop"

  /// Adds the changes that keep the ssh agents of gnome-keyring and gcr from starting, so that the session's is Latchkey's.
  private mutating func takeOverAgent() {
    guard units.path("latchkey-ssh-agent.socket") != nil else {
      obstacles.append(
        translated(
          "Latchkey's ssh agent is not installed. Install the package latchkey-ssh-agent, then run this again."))
      return
    }
    for unit in Self.agentUnits where units.path(unit) != nil {
      let own = "\(scope.units)/\(unit)"
      if let state = state(own), state != .absent, !isAlias(state) {
        obstacles.append(
          translated("you have a unit of your own, \(short(own)). Remove that unit, then run this again."))
        continue
      }
      addLink(own, to: "/dev/null", Purpose.agentOff.filled("gcr"))
    }
    guard root.contains("/etc/xdg/autostart/\(Self.agentAutostart)") else { return }
    add(
      "\(scope.autostart)/\(Self.agentAutostart)", Purpose.agentOff.filled("gnome-keyring"),
      settings: [("Desktop Entry", "Hidden", "true")],
      new: "[Desktop Entry]\nType=Application\nName=Off, by latchkey switch\nHidden=true\n")
  }

  /// Finds obstacles before anything is changed.
  private mutating func checkGround() {
    if let home = scope.home, let folder = person.configHome, folder != "\(home)/.config" {
      obstacles.append(
        translated(
          """
          XDG_CONFIG_HOME is \(folder); this command changes ~/.config only. Unset XDG_CONFIG_HOME, or change the \
          files by hand.
          """))
    }
    let system = UnitFiles(root: root, home: nil)
    for unit in ["latchkeyd.socket", "latchkeyd.service"] {
      let own = "\(scope.units)/\(unit)"
      if let mask = system.mask(unit), !returning.contains(mask) {
        let machine = MachineSwitch(root: root)
        let removal: ShellCommand = "sudo rm \(mask)"
        let command = scope != .allUsers && machine.isMaskedWithRecord ? machine.unmask : removal.line
        obstacles.append(
          scope == .allUsers
            ? translated("you turned Latchkey off for all users (\(mask) masks \(unit)). To allow it: \(command)")
            : translated(
              "your administrator turned Latchkey off for all users (\(mask) masks \(unit)). To allow it: \(command)"))
      } else if scope != .allUsers, case .link("/dev/null") = state(own), !returning.contains(own) {
        obstacles.append(translated("you turned Latchkey off. To allow it again: systemctl --user unmask \(unit)"))
      } else if system.path(unit) == nil, units.path(unit) == nil {
        obstacles.append(
          translated("Latchkey is not installed: there is no unit \(unit). Install it, then run this again."))
      }
    }
    if let refusal = BusPolicy(root: root).refusal {
      obstacles.append(
        translated(
          """
          a rule of the session bus keeps the name \(Self.name) from every program: \(refusal.path) says \
          <\(refusal.rule)>.
          """))
    }
  }

  private mutating func keepFromStarting(_ provider: Provider) {
    // A provider with a setting keeps running, and does the rest of its work.
    guard provider.settings.isEmpty else { return }
    for entry in provider.autostart(root, home: scope.home) {
      turnOff(autostart: entry, of: provider)
    }
    for unit in provider.units where provider.offersSecrets(unit: unit, units) { turnOff(unit: unit, of: provider) }
    for name in provider.otherNames where root.contains("/usr/share/dbus-1/services/\(name).service") {
      let text = "[D-BUS Service]\nName=\(name)\nExec=/bin/false\n"
      // If the provider is off for all users, no user needs a file.
      if root.content("\(SwitchScope.allUsers.busServices)/\(name).service") == .text(text) { continue }
      add(
        "\(scope.busServices)/\(name).service", Purpose.nameOff.filled(provider.name, name),
        new: text)
    }
  }

  private mutating func turnOff(autostart entry: (name: String, path: String, command: String), of provider: Provider) {
    let path = "\(scope.autostart)/\(entry.name)"
    switch AutostartChange(entry.command, of: provider, hasParts: provider.id == "gnome-keyring") {
    case .hide:
      add(
        path, Purpose.autostartOff.filled(provider.name),
        settings: [("Desktop Entry", "Hidden", "true")],
        new: "[Desktop Entry]\nType=Application\nName=Off, by latchkey switch\nHidden=true\n")
    case .command(let rest):
      // The person's own file overrides the file of all users, so it has all lines of that file.
      guard case .text(let former) = root.content(entry.path) else { return }
      var text = SettingsText(former)
      text.set("Exec", in: "Desktop Entry", to: rest)
      add(
        path, Purpose.autostartReduced.filled(provider.name),
        settings: entry.path == path ? [("Desktop Entry", "Exec", rest)] : [], new: text.text)
    case .unclear:
      obstacles.append(
        translated(
          """
          \(short(entry.path)) starts \(provider.title) and perhaps more. Change its command so that it names the \
          components to start, as \(AutostartChange.otherParts), then run this again.
          """))
    }
  }

  /// gnome-keyring's unit keeps running without its part for secrets; a unit without other parts is masked.
  private mutating func turnOff(unit: String, of provider: Provider) {
    let own = "\(scope.units)/\(unit)"
    if let state = state(own), state != .absent, !isAlias(state) {
      obstacles.append(
        translated(
          """
          you have a unit of your own that starts \(provider.title): \(short(own)). Remove that unit, then run this \
          again.
          """))
      return
    }
    let sources = units.sources(unit)
    if unit.hasSuffix(".service"), let command = units.commands(in: sources).last,
      let rest = KeyringComponents(command)?.commandWithoutSecrets
    {
      if let dropIn = sources.dropFirst().first(where: { !units.commands(in: [$0]).isEmpty }) {
        obstacles.append(
          translated("\(short(dropIn)) says how \(unit) is started. Take 'secrets' out of its --components there."))
        return
      }
      add(
        "\(own).d/latchkey-switch.conf", Purpose.unitReduced.filled(provider.name),
        new: "[Service]\nExecStart=\nExecStart=\(rest)\n")
      return
    }
    if provider.id == "gnome-keyring", unit.hasSuffix(".service") {
      // A mask would also stop gnome-keyring's ssh agent.
      obstacles.append(
        translated(
          """
          \(short(sources.first ?? unit)) does not say which components \(provider.title) starts. Add \
          --components=pkcs11,ssh to its ExecStart=, then run this again.
          """))
      return
    }
    // The service of this socket keeps running, so the socket stays too.
    if unit.hasSuffix(".socket"), keepsRunning(unit.dropLast(".socket".count) + ".service") { return }
    addLink(own, to: "/dev/null", Purpose.unitOff.filled(provider.name))
  }

  private func keepsRunning(_ service: String) -> Bool {
    units.commands(in: units.sources(service)).last.flatMap { KeyringComponents($0)?.commandWithoutSecrets } != nil
  }

  /// A link into the folders of units, as `systemctl enable` makes them.
  private func isAlias(_ state: FileState) -> Bool {
    guard case .link(let target) = state else { return false }
    return ["/usr/lib/systemd/user/", "/usr/local/lib/systemd/user/", "/lib/systemd/user/", "/etc/systemd/user/"]
      .contains { target.hasPrefix($0) } || target == "/dev/null"
  }

  private mutating func turnOff(_ provider: Provider) {
    let settings = provider.settings(root, searchPath: person.searchPath)
    if !settings.isEmpty, settings.allSatisfy({ scope.file(of: $0) == nil }) {
      note(
        translated(
          """
          \(provider.title) has no setting for all users, so it stays as each user has it. A user whose \
          \(provider.title) offers secrets runs 'latchkey switch --to latchkey' too.
          """))
    }
    for path in Set(settings.compactMap { scope.file(of: $0) }).sorted() {
      let wanted = settings.filter { scope.file(of: $0) == path }
      for one in wanted {
        for owner in Set([one.machineFile ?? path, path]).sorted()
        where SettingsText(lines(owner)).isImmutable(one.key, in: one.section) {
          obstacles.append(
            translated(
              """
              \(short(owner)) keeps [\(one.section)] \(one.key) from being changed ([$i]), so \(provider.title) \
              goes on.
              """)
          )
        }
      }
      // Settings that are off by default need no file.
      if wanted.allSatisfy({ !$0.isOnByDefault }), !root.contains(path) { continue }
      let on = wanted.filter { $0.isOn(root, home: scope.home) }
      var lines = on.map { ($0.section, $0.key, $0.off) }
      if provider.id == "kwallet", let line = enablingLine(path) { lines.append(line) }
      guard !lines.isEmpty else { continue }
      add(
        path, on.isEmpty ? Purpose.kwalletEnabled.filled() : Purpose.settingOff.filled(provider.name), settings: lines)
      if wanted.contains(where: { $0.reader != nil }) {
        note(
          translated(
            """
            KDE's programs keep their passwords in Latchkey from now on. Those in KWallet stay there: import them \
            first.
            """)
        )
      }
    }
  }

  // MARK: Back

  /// Adds the changes that make Latchkey step aside, if another provider can replace it.
  mutating func stepAside(isTakenOver: Bool) {
    side = .back
    if scope != .allUsers, MachineSwitch(root: root).isTakenOver {
      obstacles.append(
        translated(
          """
          your administrator made Latchkey the only one for all users, so no other program would take its place. \
          To undo that for all: \(MachineSwitch.handBack)
          For yourself alone: 'One user who keeps gnome-keyring' in /usr/share/doc/latchkey/docs/user/moving-in.md
          """))
      return
    }
    let other = "/usr/share/dbus-1/services/\(Self.name).service"
    let hasOther =
      isTakenOver || root.contains(other)
      || Provider.all.contains { provider in
        provider.isInstalled(root, searchPath: person.searchPath)
          && (provider.units.contains { provider.offersSecrets(unit: $0, units) }
            || !provider.autostart(root, home: scope.home).isEmpty)
      }
    guard hasOther else {
      notes.append(translated("No other program on this machine keeps secrets, so Latchkey stays."))
      return
    }
    for unit in ["latchkeyd.socket", "latchkeyd.service"] {
      let path = "\(scope.units)/\(unit)"
      if let state = state(path), state != .absent, !isAlias(state) {
        obstacles.append(
          translated("you have a unit of your own, \(short(path)). Remove that unit, then run this again."))
        continue
      }
      addLink(path, to: "/dev/null", Purpose.latchkeyOff.filled())
    }
    // Both files are in one folder, and the bus may use either file.
    let path = "\(scope.busServices)/\(Self.name).service"
    if root.contains(other), state(path) == .absent {
      addLink(path, to: other, Purpose.formerProvider.filled())
    }
  }

  // MARK: One change

  /// Adds an obstacle from the portal, except if the person keeps its backend.
  mutating func refusePortal(_ text: String) {
    if person.keepsPortal {
      notes.append(text)
    } else {
      obstacles.append(translated("\(text) To leave it so: add --keep-portal."))
    }
  }

  mutating func note(_ text: String) { if !notes.contains(text) { notes.append(text) } }

  /// The text of a file with our settings, or of a new file.
  mutating func add(
    _ path: String, _ purpose: String, settings: [(section: String, key: String, value: String)] = [],
    new: String? = nil
  ) {
    guard let before = state(path), !isLink(before, path) else { return }
    var change = FileChange(path: path, side: side, purpose: purpose, before: before, after: .absent)
    if case .file(_, let mode) = before, !settings.isEmpty {
      guard let old = before.text else {
        obstacles.append(translated("\(short(path)) is not a text file. Look at it, and remove it."))
        return
      }
      var text = SettingsText(old)
      for one in settings {
        let former = text.value(one.key, in: one.section)
        text.set(one.key, in: one.section, to: one.value)
        change.settings.append(.init(section: one.section, key: one.key, value: one.value, former: former))
      }
      change.after = .text(text.text, mode: mode)
    } else if let new {
      change.after = .text(new)
    } else {
      var text = SettingsText("")
      for one in settings {
        text.set(one.key, in: one.section, to: one.value)
        change.settings.append(.init(section: one.section, key: one.key, value: one.value, former: nil))
      }
      change.after = .text(text.text, mode: scope.settingsMode)
    }
    append(change)
  }

  /// Whether a path is a link, which a new file would replace. A link is an obstacle.
  private mutating func isLink(_ before: FileState, _ path: String) -> Bool {
    guard case .link(let target) = before else { return false }
    obstacles.append(
      translated(
        """
        \(short(path)) is a link to \(target), which this command would replace. Change \(target) by hand.
        """))
    return true
  }

  /// One more line in a file, of which `text` is the outcome.
  mutating func addLine(_ line: String, to path: String, _ text: String, _ purpose: String) {
    guard let before = state(path), !isLink(before, path) else { return }
    var change = FileChange(
      path: path, side: side, purpose: purpose, before: before, after: .text(text, mode: before.mode ?? 0o644))
    change.line = line
    append(change)
  }

  /// A link, such as the link that masks a unit.
  mutating func addLink(_ path: String, to target: String, _ purpose: String) {
    guard let before = state(path) else { return }
    append(FileChange(path: path, side: side, purpose: purpose, before: before, after: .link(target)))
  }

  private mutating func append(_ change: FileChange) {
    guard change.before != change.after else { return }
    if let error = files.refusal(of: change.path) {
      obstacles.append(translated("\(short(change.path)) cannot be changed: \(error)."))
      return
    }
    changes.append(change)
  }

  /// The state of a path; nil, with an obstacle, if this command must not touch it.
  private mutating func state(_ path: String) -> FileState? {
    if let place = files.stranger(onTheWayTo: path) {
      obstacles.append(
        translated(
          """
          other users than root can change \(place), so \(path) is not written as root. Look at it with 'ls -ld \
          \(ShellCommand.quoted(place))': it has to be root's own folder, no link, and closed to others with 'sudo chmod go-w'.
          """))
      return nil
    }
    do throws(PosixError) { return try files.state(path) } catch {
      obstacles.append(translated("\(short(path)) cannot be changed: \(error)."))
      return nil
    }
  }

  private func lines(_ path: String) -> String { root.lines(path).joined(separator: "\n") }

  private func short(_ path: String) -> String { FileChange.short(path, home: scope.home) }
}
