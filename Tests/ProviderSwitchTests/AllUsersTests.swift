import Foundation
import Glibc
import Testing

@testable import LatchkeyDoctor
@testable import LatchkeyProviderSwitch

/// Taking over and handing back for all users of a machine, on files in a folder of the test.
@Suite struct AllUsersTests {
  private static let user = SwitchScope.person(home: FakeHome.home)

  private func system(_ change: (FakeHome) throws -> Void = { _ in }) throws -> FakeHome {
    let home = try FakeHome()
    try home.installAll()
    try change(home)
    home.person = ProviderSwitch.Person(uid: getuid(), scope: .allUsers)
    return home
  }

  @discardableResult
  private func run(_ side: FileChange.Side, _ home: FakeHome, for scope: SwitchScope = .allUsers) throws -> SwitchPlan {
    home.person = ProviderSwitch.Person(uid: getuid(), scope: scope)
    let plan = try home.providers.plan(side)
    #expect(plan.obstacles == [])
    #expect(try home.providers.perform(plan) == [])
    return plan
  }

  private func plan(_ side: FileChange.Side, _ home: FakeHome, for scope: SwitchScope) throws -> SwitchPlan {
    home.person = ProviderSwitch.Person(uid: getuid(), scope: scope)
    return try home.providers.plan(side)
  }

  private func enabling(_ home: FakeHome) -> [String] {
    home.person = ProviderSwitch.Person(uid: getuid(), scope: Self.user)
    return home.providers.formerProviders.map(\.id)
  }

  @Test func everyProviderWithASettingForAllIsTurnedOff() throws {
    let home = try system()
    let own = try home.everything()
    let done = try run(.toLatchkey, home)
    #expect(try home.everything() == own)
    #expect(enabling(home) == ["keepassxc"])
    #expect(done.notes.contains { $0.hasPrefix("KeePassXC has no setting for all users") })
    for change in done.changes {
      #expect(change.path.hasPrefix("/etc/") || change.path.hasPrefix("/usr/local/share/"))
    }
    #expect(home.text(ofAll: "/etc/xdg/autostart/gnome-keyring-secrets.desktop")?.contains("Hidden=true") == true)
    #expect(
      home.text(ofAll: "/etc/systemd/user/gnome-keyring-daemon.service.d/latchkey-switch.conf")?
        .contains("--components=\"pkcs11\"") == true)
    #expect(
      home.text(ofAll: "/usr/local/share/dbus-1/services/org.gnome.keyring.service")?.contains("/bin/false") == true)
    #expect(home.text(ofAll: "/etc/xdg/kwalletrc")?.contains("[KSecretD]\nEnabled=false\n") == true)
    #expect(home.text(ofAll: "/etc/xdg/xdg-desktop-portal/gnome-portals.conf")?.hasSuffix("Secret=latchkey\n") == true)
    #expect(try run(.toLatchkey, home).changesNothing)
  }

  @Test func backIsByteForByte() throws {
    let home = try system {
      try $0.put("/etc/xdg/kwalletrc", "[Wallet]\r\nFirst Use=false", mode: 0o640)
      try $0.put("/etc/xdg/autostart/gnome-keyring-secrets.desktop", "[Desktop Entry]\nExec=gnome-keyring-daemon")
    }
    let before = try home.everything(below: "/")
    try run(.toLatchkey, home)
    #expect(try home.everything(below: "/") != before)
    try run(.back, home)
    let after = try home.everything(below: "/")
    let aside = after.filter { before[$0.key] != $0.value && $0.value != "folder" }
    #expect(
      Set(aside.keys) == [
        "etc/latchkey/switch.json", "etc/systemd/user/latchkeyd.service", "etc/systemd/user/latchkeyd.socket",
        "usr/local/share/dbus-1/services/org.freedesktop.secrets.service",
      ])
    for (name, state) in before { #expect(after[name] == state) }
    try run(.toLatchkey, home)
    #expect(UnitFiles(root: SystemRoot(home.path), home: nil).mask("latchkeyd.socket") == nil)
  }

  @Test func nothingIsRemovedWhereOthersMayWrite() throws {
    let home = try system()
    let done = try run(.toLatchkey, home)
    let change = try #require(done.changes.first { $0.path.hasPrefix("/etc/xdg/autostart/") })
    let leftover = "/etc/xdg/autostart/.\((change.path as NSString).lastPathComponent).latchkey-new"
    try home.put(leftover, "of another user")
    #expect(chmod(home.path + "/etc/xdg/autostart", 0o777) == 0)
    _ = try home.providers.perform(try home.providers.plan(.back))
    #expect(home.text(ofAll: leftover) == "of another user")
  }

  @Test func usersCanReadWhatCountsForThem() throws {
    let home = try system()
    let mask = umask(0o077)
    defer { umask(mask) }
    let before = try home.everything(below: "/")
    try run(.toLatchkey, home)
    for (name, state) in try home.everything(below: "/") where before[name] == nil {
      if state == "folder" {
        let facts = try FileManager.default.attributesOfItem(atPath: "\(home.path)/\(name)")
        #expect(facts[.posixPermissions] as? Int == 0o755, "\(name)")
      } else if !state.hasPrefix("link ") {
        #expect(state.hasPrefix(name.hasSuffix("switch.json") ? "600 " : "644 "), "\(name)")
      }
    }
  }

  @Test func nothingIsWrittenWhereOthersHaveAHand() throws {
    let folder = "/usr/local/share/dbus-1"
    for mode in [0o777, 0o757, 0o775] {
      let home = try system { home in
        try home.put("\(folder)/services/x.service", "")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: home.path + folder)
      }
      let obstacles = try plan(.toLatchkey, home, for: .allUsers).obstacles
      #expect(obstacles.count == 1 && obstacles.first?.contains("ls -ld \(folder)") == true)
    }
    // The link leads into a folder that a user can change.
    let home = try system { try $0.link("/etc/xdg/xdg-desktop-portal", to: FakeHome.home) }
    let own = try home.everything()
    let obstacles = try plan(.toLatchkey, home, for: .allUsers).obstacles
    #expect(obstacles.count == 1 && obstacles.first?.contains("ls -ld /etc/xdg/xdg-desktop-portal") == true)
    #expect(try home.everything() == own)
  }

  @Test(arguments: ["a link", "a private file", "an open folder"])
  func nothingThatOnlyRootReadsIsCopied(_ what: String) throws {
    let folder = "/usr/local/share/xdg-desktop-portal"
    let path = "\(folder)/gnome-portals.conf"
    let text = "[preferred]\norg.freedesktop.impl.portal.Secret=oo7-portal\nkept=for root\n"
    let home = try system { home in
      switch what {
      case "a link":
        try home.put("/etc/private", text, mode: 0o600)
        try home.link(path, to: "../../../../etc/private")
      case "a private file": try home.put(path, text, mode: 0o640)
      default:
        try home.put(path, text)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: home.path + folder)
      }
    }
    let obstacles = try plan(.toLatchkey, home, for: .allUsers).obstacles
    #expect(obstacles.count == 1 && obstacles.first?.contains("'ls -l \(path)'") == true)
    home.person.keepsPortal = true
    let plan = try home.providers.plan(.toLatchkey)
    #expect(plan.obstacles == [] && !plan.changes.contains { $0.after.text?.contains("kept=") == true })
    // A person can copy only files that the person can read.
    #expect(try self.plan(.toLatchkey, home, for: Self.user).obstacles == [])
  }

  @Test func aPublicFileOfTheAdministratorsIsCopied() throws {
    let text = "[preferred]\norg.freedesktop.impl.portal.Secret=oo7-portal\n"
    let home = try system { try $0.put("/usr/local/share/xdg-desktop-portal/gnome-portals.conf", text) }
    try run(.toLatchkey, home)
    let copy = "[preferred]\norg.freedesktop.impl.portal.Secret=latchkey\n"
    #expect(home.text(ofAll: "/etc/xdg/xdg-desktop-portal/gnome-portals.conf") == copy)
  }

  @Test(.enabled(if: geteuid() == 0, "needs root"))
  func aChangedFileKeepsItsGroup() throws {
    let path = "/etc/xdg/kwalletrc"
    let home = try system { try $0.put(path, "[Wallet]\nFirst Use=false\n", mode: 0o640) }
    try FileManager.default.setAttributes([.groupOwnerAccountID: 4], ofItemAtPath: home.path + path)
    for side in [FileChange.Side.toLatchkey, .back] {
      try run(side, home)
      let facts = try FileManager.default.attributesOfItem(atPath: home.path + path)
      #expect(facts[.groupOwnerAccountID] as? Int == 4 && facts[.posixPermissions] as? Int == 0o640)
    }
  }

  @Test func aFolderThatBecameALinkSinceIsNotWrittenTo() throws {
    let home = try system()
    let plan = try plan(.toLatchkey, home, for: .allUsers)
    try home.link("/etc/xdg/xdg-desktop-portal", to: "../../home/anna")
    let own = try home.everything()
    #expect(throws: SwitchError.self) { try home.providers.perform(plan) }
    #expect(try home.everything() == own)
  }

  @Test func aUserIsToldWhoCanUndoIt() throws {
    let home = try system()
    try run(.toLatchkey, home)
    #expect(try plan(.back, home, for: Self.user).obstacles.first?.contains(MachineSwitch.handBack + "\n") == true)
    // The user can still change the rest: KeePassXC's settings in the home folder.
    #expect(try run(.toLatchkey, home, for: Self.user).changes.map(\.path).allSatisfy { $0.contains("keepassxc") })
    #expect(enabling(home) == [])

    try run(.back, home)
    #expect(try plan(.toLatchkey, home, for: Self.user).obstacles.first?.hasSuffix(MachineSwitch.takeOver) == true)
    let facts = DesktopFacts(uid: 1, home: FakeHome.home, runtime: "/run/user/1")
    let found = UnitExamination(root: SystemRoot(home.path), facts: facts).findings().first { $0.id == "unit.socket" }
    #expect(found?.condition == .ok && found?.found.contains(" && \(MachineSwitch.takeOver)'") == true)
  }

  /// The state after `systemctl --global mask`. A user sees the record, but cannot read who masked the units.
  @Test func afterAMaskByHandTheAdviceUnmasksFirst() throws {
    let home = try system()
    try run(.toLatchkey, home)
    let masks = ["latchkeyd.socket", "latchkeyd.service"].map { "/etc/systemd/user/\($0)" }
    func unmask() throws { for mask in masks { try FileManager.default.removeItem(atPath: home.path + mask) } }
    for mask in masks { try home.link(mask, to: "/dev/null") }
    #expect(try plan(.toLatchkey, home, for: .allUsers).obstacles.count == masks.count, "the switch alone is refused")
    let advice = MachineSwitch(root: SystemRoot(home.path)).unmask
    let command = "systemctl --global unmask latchkeyd.socket latchkeyd.service && \(MachineSwitch.takeOver)"
    #expect(advice == "sudo \(command)")
    #expect(try plan(.toLatchkey, home, for: Self.user).obstacles.allSatisfy { $0.hasSuffix(advice) })
    try unmask()
    #expect(try run(.toLatchkey, home).obstacles == [])

    // The command also helps after a hand-back.
    try run(.back, home)
    #expect(MachineSwitch(root: SystemRoot(home.path)).unmask == advice)
    try unmask()
    #expect(try run(.toLatchkey, home).obstacles == [])
    #expect(enabling(home) == ["keepassxc"])
  }

  @Test func whatAUserTurnedOnIsTheUsersToTurnOff() throws {
    let home = try system { try $0.own(".config/kwalletrc", "[org.freedesktop.secrets]\napiEnabled=true\n") }
    try run(.toLatchkey, home)
    #expect(enabling(home) == ["kwallet", "keepassxc"])
    try run(.toLatchkey, home, for: Self.user)
    #expect(home.text(".config/kwalletrc") == "[org.freedesktop.secrets]\napiEnabled=false\n")
    #expect(enabling(home) == [])
  }

  @Test func refusals() throws {
    func obstacles(_ change: (FakeHome) throws -> Void) throws -> String {
      let home = try system(change)
      let before = try home.everything(below: "/")
      let plan = try home.providers.plan(.toLatchkey)
      #expect(try home.everything(below: "/") == before)
      return plan.obstacles.joined(separator: "\n")
    }
    #expect(
      try obstacles { try $0.put("/etc/xdg/kwalletrc", "[KSecretD][$i]\nEnabled=true\n") }
        .contains("/etc/xdg/kwalletrc keeps"))
    #expect(
      try obstacles { try $0.link("/etc/systemd/user/latchkeyd.socket", to: "/dev/null") }
        .contains("you turned Latchkey off for all users"))
    #expect(
      try obstacles { try $0.put("/etc/systemd/user/oo7-daemon.service", "[Service]\nExecStart=/usr/bin/oo7-daemon\n") }
        .contains("a unit of your own that starts oo7"))
    #expect(
      try obstacles {
        try $0.put("/etc/xdg/autostart/x.desktop", "[Desktop Entry]\nExec=gnome-keyring-daemon --start && other\n")
      }.contains("/etc/xdg/autostart/x.desktop starts gnome-keyring and perhaps more"))
    #expect(
      try obstacles {
        try $0.put(
          "/etc/xdg-desktop-portal/portals.conf", "[preferred]\norg.freedesktop.impl.portal.Secret=oo7-portal\n")
      }.contains("you chose 'oo7-portal'"))
    #expect(try obstacles { _ in } == "")
  }
}
