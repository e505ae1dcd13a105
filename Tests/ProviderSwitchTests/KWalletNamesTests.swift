import Foundation
import LatchkeyDoctor
import Testing

@testable import LatchkeyProviderSwitch

/// KDE's programs with latchkey-kwallet installed next to KWallet.
@Suite struct KWalletNamesTests {
  private static let program = "/usr/libexec/latchkey-kwallet"
  private static let services = ".local/share/dbus-1/services"

  /// Debian 12 or 13, chosen by KWallet's number, with pam_kwallet.
  private func system(_ version: Int) throws -> FakeHome {
    let home = try FakeHome()
    try home.put("/usr/bin/kwalletd\(version)", "")
    try home.put(
      "/usr/share/dbus-1/services/org.kde.kwalletd\(version).service",
      "[D-BUS Service]\nName=org.kde.kwalletd\(version)\nExec=/usr/bin/kwalletd\(version)\n")
    try home.put("/etc/xdg/autostart/pam_kwallet_init.desktop", "[Desktop Entry]\nExec=/usr/libexec/pam_kwallet_init\n")
    try home.put(
      "/usr/lib/systemd/user/plasma-kwallet-pam.service", "[Service]\nExecStart=/usr/libexec/pam_kwallet_init\n")
    try home.own(".config/kwalletrc", "[Wallet]\nEnabled=false\nFirst Use=false\n", mode: 0o600)
    return home
  }

  private func run(_ side: FileChange.Side, _ home: FakeHome) throws {
    let plan = try home.providers.plan(side)
    #expect(plan.obstacles == [])
    #expect(try home.providers.perform(plan) == [])
  }

  @Test(arguments: [5, 6]) func itTakesTheNamesAndGivesThemBack(version: Int) throws {
    let home = try system(version)
    try home.put(Self.program, "", mode: 0o755)
    let before = try home.everything()
    try run(.toLatchkey, home)
    for name in ["org.kde.kwalletd5", "org.kde.kwalletd6"] {
      let text = try #require(home.text("\(Self.services)/\(name).service"))
      #expect(text.hasPrefix("[D-BUS Service]\nName=\(name)\nExec=/bin/sh -c \""))
      // KWallet starts again if Latchkey's package is removed.
      let fallback = "; exec /usr/bin/kwalletd\(version)\"\n"
      #expect(text.contains("exec \(Self.program)") && text.hasSuffix(fallback) == name.hasSuffix("\(version)"))
    }
    let settings = try #require(home.text(".config/kwalletrc"))
    #expect(settings.contains("[Wallet]\nEnabled=true\n") && settings.contains("apiEnabled=false"))
    #expect(home.text(".config/autostart/pam_kwallet_init.desktop")?.contains("Hidden=true") == true)
    #expect(try home.everything()[".config/systemd/user/plasma-kwallet-pam.service"] == "link /dev/null")
    #expect(try home.providers.plan(.toLatchkey).changesNothing)
    try run(.back, home)
    let after = try home.everything()
    #expect(before.allSatisfy { after[$0.key] == $0.value })
    #expect(!after.keys.contains { $0.contains("kwallet") && before[$0] == nil })
  }

  @Test func itTakesTheNamesForAllUsers() throws {
    let home = try system(5)
    try home.put(Self.program, "", mode: 0o755)
    let own = ProviderSwitch.Person(uid: getuid(), scope: .person(home: FakeHome.home))
    home.person = ProviderSwitch.Person(uid: getuid(), scope: .allUsers)
    let before = try home.everything(below: "/")
    try run(.toLatchkey, home)
    for name in ["org.kde.kwalletd5", "org.kde.kwalletd6"] {
      let text = home.text(ofAll: "/usr/local/share/dbus-1/services/\(name).service")
      #expect(text?.contains("exec \(Self.program)") == true)
    }
    #expect(home.text(ofAll: "/etc/xdg/autostart/pam_kwallet_init.desktop")?.contains("Hidden=true") == true)
    // Users need no files of their own for the bus or the login.
    home.person = own
    let needed = try home.providers.plan(.toLatchkey).changes.map(\.path)
    #expect(needed == ["\(FakeHome.home)/.config/kwalletrc"])
    home.person = ProviderSwitch.Person(uid: getuid(), scope: .allUsers)
    try run(.back, home)
    let after = try home.everything(below: "/")
    #expect(before.allSatisfy { after[$0.key] == $0.value })
  }

  @Test func nothingIsTakenWithoutIt() throws {
    let home = try system(5)
    try run(.toLatchkey, home)
    #expect(!(try home.everything().keys.contains { $0.contains("org.kde") || $0.contains("kwallet-pam") }))
    #expect(home.text(".config/kwalletrc")?.contains("Enabled=false") == true)
    // KDE's newer proxy keeps everything in a Secret Service.
    let newer = try system(6)
    try newer.put(Self.program, "")
    try newer.put("/usr/bin/ksecretd", "")
    try run(.toLatchkey, newer)
    #expect(!(try newer.everything().keys.contains { $0.contains("org.kde") }))
  }
}
