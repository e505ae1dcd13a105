import Foundation
import LatchkeyPosix
import Testing

@testable import LatchkeyDoctor
@testable import LatchkeyProviderSwitch

/// Taking over and handing back, on files in a folder of the test.
@Suite struct SwitchTests {
  private func system(_ install: (FakeHome) throws -> Void) throws -> FakeHome {
    let home = try FakeHome()
    try install(home)
    return home
  }

  @discardableResult
  private func run(_ side: FileChange.Side, _ home: FakeHome) throws -> [FileChange] {
    let plan = try home.providers.plan(side)
    #expect(plan.obstacles == [])
    return try home.providers.perform(plan)
  }

  private func enabling(_ home: FakeHome) -> [String] {
    home.providers.formerProviders.map(\.id)
  }

  // MARK: What is found

  @Test func nothingIsThere() throws {
    let home = try FakeHome()
    let before = try home.everything()
    for side in [FileChange.Side.toLatchkey, .back] {
      #expect(try home.providers.plan(side).changesNothing)
      try run(side, home)
    }
    #expect(try home.everything() == before)
  }

  @Test func gnomeKeyringKeepsItsOtherParts() throws {
    let home = try system { try $0.installGNOMEKeyring() }
    try run(.toLatchkey, home)
    let dropIn = try #require(home.text(".config/systemd/user/gnome-keyring-daemon.service.d/latchkey-switch.conf"))
    #expect(dropIn.contains("--components=\"pkcs11\" --control-directory=%t/keyring"))
    #expect(home.text(".config/autostart/gnome-keyring-secrets.desktop")?.contains("Hidden=true") == true)
    #expect(home.text(".config/autostart/gnome-keyring-ssh.desktop") == nil)
    #expect(home.text(".local/share/dbus-1/services/org.gnome.keyring.service")?.contains("/bin/false") == true)
  }

  @Test func everyProviderIsTurnedOff() throws {
    let home = try system { try $0.installAll() }
    let units = ["oo7-daemon.service", "pass-secret-service.service", "dbus-org.freedesktop.secrets.service"]
    for unit in units { try home.put("/etc/systemd/user/default.target.wants/\(unit)", "") }
    #expect(
      enabling(home) == ["gnome-keyring", "kwallet", "keepassxc", "oo7", "pass-secret-service", "bus-activated"])
    try run(.toLatchkey, home)
    #expect(enabling(home) == [])
    for unit in units { #expect(try home.everything()[".config/systemd/user/\(unit)"] == "link /dev/null") }
    #expect(home.text(".config/kwalletrc")?.contains("[org.freedesktop.secrets]\napiEnabled=false\n") == true)
    #expect(home.text(".config/kwalletrc")?.contains("[KSecretD]\nEnabled=false\n") == true)
    #expect(home.text(".config/keepassxc/keepassxc.ini") == "[General]\nX=1\n\n[FdoSecrets]\nEnabled=false\n")
    let portals = try #require(home.text(".config/xdg-desktop-portal/gnome-portals.conf"))
    #expect(portals == "[preferred]\ndefault=gnome;gtk;\norg.freedesktop.impl.portal.Secret=latchkey\n")
  }

  @Test func aMaskOfThePersonsOwnIsAnObstacle() throws {
    let home = try system { try $0.installAll() }
    try home.link("\(FakeHome.home)/.config/systemd/user/latchkeyd.socket", to: "/dev/null")
    let before = try home.everything()
    let obstacles = try home.providers.plan(.toLatchkey).obstacles
    #expect(obstacles == ["you turned Latchkey off. To allow it again: systemctl --user unmask latchkeyd.socket"])
    #expect(try home.everything() == before)
  }

  @Test func aUnitThatDoesNotSayItsPartsIsAnObstacle() throws {
    let home = try system { try $0.installGNOMEKeyring() }
    let unit = "[Service]\nExecStart=/usr/bin/gnome-keyring-daemon --foreground\n"
    try home.put("/usr/lib/systemd/user/gnome-keyring-daemon.service", unit)
    let obstacles = try home.providers.plan(.toLatchkey).obstacles
    #expect(obstacles.count == 1 && obstacles.first?.contains("--components=pkcs11,ssh") == true)
  }

  @Test func linesThatWereTurnedOnAgainGoBackWithTheOthers() throws {
    let home = try system { try $0.installAll() }
    let text = "[org.freedesktop.secrets]\napiEnabled=true\n\n[KSecretD]\nEnabled=true\n"
    try home.own(".config/kwalletrc", text)
    try run(.toLatchkey, home)
    let off = try #require(home.text(".config/kwalletrc"))
    #expect(!off.contains("=true"))
    try home.own(".config/kwalletrc", off.replacingOccurrences(of: "apiEnabled=false", with: "apiEnabled=true"))
    try run(.toLatchkey, home)
    #expect(home.text(".config/kwalletrc") == off)
    try run(.back, home)
    #expect(home.text(".config/kwalletrc") == text)
  }

  @Test func aSecondRunChangesNothing() throws {
    let home = try system { try $0.installAll() }
    try run(.toLatchkey, home)
    let after = try home.everything()
    #expect(try home.providers.plan(.toLatchkey).changesNothing)
    try run(.toLatchkey, home)
    #expect(try home.everything() == after)
  }

  @Test func aDryRunSaysWhatIsDoneAndDoesNothing() throws {
    let home = try system { try $0.installAll() }
    let before = try home.everything()
    let plan = try home.providers.plan(.toLatchkey)
    #expect(try home.everything() == before)
    #expect(plan.changes.count == 9)
    for change in plan.changes { #expect(change.words(home: FakeHome.home).contains("~/.")) }
    _ = try home.providers.perform(plan)
    let after = try home.everything()
    let changed = Set(after.keys.filter { after[$0] != before[$0] && after[$0] != "folder" })
    let named = Set(plan.changes.map { String($0.path.dropFirst(FakeHome.home.count + 1)) })
    #expect(changed == named.union([".local/state/latchkey/switch.json"]))
  }

  // MARK: Putting back

  @Test func backIsByteForByte() throws {
    let home = try system { try $0.installAll() }
    try home.own(".config/autostart/gnome-keyring-secrets.desktop", "[Desktop Entry]\r\nHidden=false\r\n", mode: 0o755)
    let before = try home.everything()
    try run(.toLatchkey, home)
    #expect(try home.everything() != before)
    #expect(try run(.back, home) == [])
    // Latchkey's own units stay masked until Latchkey takes over again.
    let aside = [
      ".config/systemd", ".config/systemd/user", ".config/systemd/user/latchkeyd.socket",
      ".config/systemd/user/latchkeyd.service", ".local", ".local/share", ".local/share/dbus-1",
      ".local/share/dbus-1/services", ".local/share/dbus-1/services/org.freedesktop.secrets.service", ".local/state",
      ".local/state/latchkey", ".local/state/latchkey/switch.json",
    ]
    let after = try home.everything()
    #expect(after.filter { !aside.contains($0.key) } == before)
    #expect(after[".config/systemd/user/latchkeyd.socket"] == "link /dev/null")
    try run(.toLatchkey, home)
    #expect(try home.everything()[".config/systemd/user/latchkeyd.socket"] == nil)
    #expect(try home.providers.plan(.toLatchkey).changesNothing)
  }

  @Test func theRecordIsForThePersonOnly() throws {
    let home = try system { try $0.installAll() }
    try run(.toLatchkey, home)
    #expect(try home.everything()[".local/state/latchkey/switch.json"]?.hasPrefix("600 ") == true)
  }

  @Test func whatThePersonChangedSinceIsNotOverwritten() throws {
    let home = try system { try $0.installAll() }
    try run(.toLatchkey, home)
    try home.own(".config/autostart/gnome-keyring-secrets.desktop", "mine\n")
    // A program rewrote its settings and kept our lines. Only our lines are taken back.
    let settings = try #require(home.text(".config/kwalletrc"))
    try home.own(".config/kwalletrc", "[New]\nA=b\n\n" + settings, mode: 0o600)
    // The person has changed our lines in this file.
    try home.own(".config/keepassxc/keepassxc.ini", "[FdoSecrets]\nEnabled=maybe\n", mode: 0o640)
    let left = try run(.back, home).map { $0.path.dropFirst(FakeHome.home.count + 1) }
    #expect(Set(left) == [".config/autostart/gnome-keyring-secrets.desktop", ".config/keepassxc/keepassxc.ini"])
    #expect(home.text(".config/autostart/gnome-keyring-secrets.desktop") == "mine\n")
    #expect(home.text(".config/kwalletrc") == "[New]\nA=b\n\n[Wallet]\nFirst Use=false\n")
    // The report names both files until the person has dealt with them.
    #expect(try home.providers.plan(.back).left.count == 2)
    try home.remove(".config/autostart/gnome-keyring-secrets.desktop")
    #expect(try home.providers.plan(.back).left.count == 1)
  }

  // MARK: Refusals

  private func obstacles(_ change: (FakeHome) throws -> Void) throws -> String {
    let home = try system { try $0.installAll() }
    try change(home)
    let before = try home.everything()
    let plan = try home.providers.plan(.toLatchkey)
    #expect(try home.everything() == before)
    return plan.obstacles.joined(separator: "\n")
  }

  @Test func refusals() throws {
    #expect(
      try obstacles {
        try $0.remove(".config/kwalletrc")
        try $0.link("\(FakeHome.home)/.config/kwalletrc", to: "dotfiles/kwalletrc")
      }.contains("~/.config/kwalletrc is a link to dotfiles/kwalletrc"))
    #expect(
      try obstacles {
        try $0.own(".config/systemd/user/oo7-daemon.service", "[Service]\nExecStart=/usr/bin/oo7-daemon\n")
      }
      .contains("a unit of your own that starts oo7"))
    #expect(
      try obstacles { try $0.put("/etc/xdg/kwalletrc", "[org.freedesktop.secrets][$i]\napiEnabled=true\n") }
        .contains("/etc/xdg/kwalletrc keeps"))
    #expect(
      try obstacles {
        try $0.put(
          "/etc/systemd/user/gnome-keyring-daemon.service.d/x.conf",
          "[Service]\nExecStart=\nExecStart=/usr/bin/gnome-keyring-daemon --components=secrets,ssh\n")
      }.contains("/etc/systemd/user/gnome-keyring-daemon.service.d/x.conf says how"))
    #expect(
      try obstacles { try $0.link("/etc/systemd/user/latchkeyd.socket", to: "/dev/null") }.contains("administrator"))
    #expect(
      try obstacles { try $0.put("/etc/dbus-1/session.d/x.conf", "<deny own=\"org.freedesktop.secrets\"/>") }
        .contains("a rule of the session bus"))
    #expect(try obstacles { $0.person.configHome = "/elsewhere" }.contains("XDG_CONFIG_HOME"))
    #expect(try obstacles { try $0.own(".config/autostart", "a file, where a folder belongs") }.contains("autostart"))
    #expect(try obstacles { _ in } == "")
  }

  @Test func thePortalThatSomebodyChoseStays() throws {
    let choice = "[preferred]\norg.freedesktop.impl.portal.Secret=oo7-portal\n"
    for place in ["\(FakeHome.home)/.config", "/etc"] {
      let home = try system { try $0.installAll() }
      try home.put("\(place)/xdg-desktop-portal/portals.conf", choice)
      #expect(try home.providers.plan(.toLatchkey).obstacles.first?.contains("chose 'oo7-portal'") == true)
      home.person.keepsPortal = true
      let plan = try home.providers.plan(.toLatchkey)
      #expect(plan.obstacles == [] && !plan.changes.contains { $0.path.contains("portal") })
    }
    // The choice of the desktop's package stays as well.
    let home = try system { try $0.installAll() }
    home.person.keepsPortal = true
    let plan = try home.providers.plan(.toLatchkey)
    #expect(!plan.changesNothing && !plan.changes.contains { $0.path.contains("portal") })
  }

  @Test func aDesktopThatNamesNoBackendForSecretsGetsLatchkey() throws {
    let portals = "/usr/share/xdg-desktop-portal"
    let own = ".config/xdg-desktop-portal/kde-portals.conf"
    func plasma(_ text: String, _ more: (FakeHome) throws -> Void = { _ in }) throws -> FakeHome {
      try system {
        for (name, interfaces) in [("latchkey", "Secret"), ("kde", "FileChooser"), ("kwallet", "Secret")] {
          try $0.put(
            "\(portals)/portals/\(name).portal", "[portal]\nInterfaces=org.freedesktop.impl.portal.\(interfaces)\n")
        }
        try $0.put("\(portals)/kde-portals.conf", text)
        try more($0)
      }
    }
    for text in ["[preferred]\ndefault=kde\n", "[preferred]\ndefault=kde;kwallet;\n"] {
      let home = try plasma(text)
      let before = try home.everything()
      try run(.toLatchkey, home)
      let line = "org.freedesktop.impl.portal.Secret=latchkey\n"
      #expect(home.text(own) == text.replacing("[preferred]\n", with: "[preferred]\n" + line))
      #expect(try home.providers.plan(.toLatchkey).changesNothing)
      try run(.back, home)
      #expect(home.text(own) == nil)
      let after = try home.everything()
      #expect(before.keys.allSatisfy { after[$0] != nil })
    }
    // The text allows any backend, wants no backend, or already leads to Latchkey.
    for text in ["default=*", "default=kde\norg.freedesktop.impl.portal.Secret=none", "default=kde;latchkey"] {
      #expect(try plasma("[preferred]\n\(text)\n").providers.plan(.toLatchkey).changesNothing)
    }
    // The person has a file of their own, or wants to keep the portal.
    let chosen = try plasma("[preferred]\ndefault=kde\n") { try $0.own(own, "[preferred]\ndefault=kde\n") }
    #expect(try chosen.providers.plan(.toLatchkey).changesNothing)
    let kept = try plasma("[preferred]\ndefault=kde\n")
    kept.person.keepsPortal = true
    #expect(try kept.providers.plan(.toLatchkey).changesNothing)
  }

  // MARK: Interruptions

  /// Ends before the n-th change of the disk, as a kill would.
  private final class Countdown: @unchecked Sendable {
    private var left: Int
    init(_ left: Int) { self.left = left }
    func step() throws(PosixError) {
      left -= 1
      if left < 0 { throw PosixError("kill", code: EINTR) }
    }
  }

  private func interrupt(_ side: FileChange.Side, _ home: FakeHome, after steps: Int) throws -> Bool {
    var providers = home.providers
    let countdown = Countdown(steps)
    providers.files.beforeChange = { () throws(PosixError) in try countdown.step() }
    do {
      _ = try providers.perform(try providers.plan(side))
      return false
    } catch { return true }
  }

  @Test func interruptedAnywhere() throws {
    let whole = try system { try $0.installAll() }
    let before = try whole.everything()
    try run(.toLatchkey, whole)
    let taken = try whole.everything()
    try run(.back, whole)
    let back = try whole.files()
    var steps = 0
    while true {
      let home = try system { try $0.installAll() }
      guard try interrupt(.toLatchkey, home, after: steps) else { break }
      // Each file of another program is whole: as before or as after the switch.
      for (name, state) in try home.everything()
      where !name.hasSuffix(".latchkey-new") && !name.hasSuffix("switch.json") {
        #expect(state == before[name] || state == taken[name], "\(name) after \(steps)")
      }
      try run(.back, home)
      #expect(try home.files() == back, "back after \(steps)")

      let again = try system { try $0.installAll() }
      _ = try interrupt(.toLatchkey, again, after: steps)
      try run(.toLatchkey, again)
      #expect(try again.files() == taken.filter { !$0.key.hasSuffix("switch.json") })
      try run(.back, again)
      #expect(try again.files() == back)
      steps += 1
    }
    #expect(steps > 20)
  }

  @Test func handingBackIsInterrupted() throws {
    let whole = try system { try $0.installAll() }
    try run(.toLatchkey, whole)
    try run(.back, whole)
    let back = try whole.files()
    var steps = 0
    while true {
      let home = try system { try $0.installAll() }
      try run(.toLatchkey, home)
      guard try interrupt(.back, home, after: steps) else { break }
      try run(.back, home)
      #expect(try home.files() == back, "back after \(steps)")
      steps += 1
    }
    #expect(steps > 20)
  }
}
