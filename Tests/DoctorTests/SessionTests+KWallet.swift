import Glibc
import Testing

@testable import LatchkeyDoctor

/// The program that answers KDE's programs if latchkey-kwallet is installed.
extension SessionTests {
  private static let services = "\(home)/.local/share/dbus-1/services"

  private func install(_ system: FakeSystem) throws {
    try system.put("/usr/libexec/latchkey-kwallet", "", mode: 0o755)
    try system.put(
      "/usr/share/dbus-1/services/org.kde.kwalletd5.service",
      "[D-BUS Service]\nName=org.kde.kwalletd5\nExec=/usr/bin/kwalletd5\n")
  }

  /// The system after `latchkey switch`.
  private func switchOver(_ system: FakeSystem) throws {
    try install(system)
    let front = try #require(KWalletFront(root: SystemRoot(system.path)))
    for name in KWalletFront.names { try system.put("\(Self.services)/\(name).service", front.service(for: name)) }
  }

  @Test func programsOfKDE() throws {
    let id = "kwallet"
    #expect(Self.findings(try Self.system()).one(id) == nil)
    let before = try after(id, install)
    #expect(before.condition == .warning && before.command == "latchkey switch --to latchkey")
    #expect(try after(id, switchOver).condition == .ok)
    // The login starts KWallet directly, without the bus.
    let login = try after(id) {
      try switchOver($0)
      try $0.put("/etc/xdg/autostart/pam_kwallet_init.desktop", "[Desktop Entry]\nExec=/usr/libexec/pam_kwallet_init\n")
    }
    #expect(login.condition == .warning && login.found.contains("pam_kwallet_init.desktop"))
    let running = { (system: FakeSystem) throws in
      try self.switchOver(system)
      try system.process(60, "kwalletd5", uid: Int(getuid()))
    }
    let owner = try told(id, { $0.ownedNames.insert("org.kde.kwalletd5") }, running)
    #expect(owner.condition == .warning && owner.found.contains("org.kde.kwalletd5"))
    #expect(try after(id, running).condition == .ok)
    let off = try after("kwallet.enabled") {
      try switchOver($0)
      try $0.put("\(Self.home)/.config/kwalletrc", "[Wallet]\nEnabled=false\n")
    }
    #expect(off.condition == .warning)
    let files = try after("kwallet.files") {
      try switchOver($0)
      try $0.put("\(Self.home)/.local/share/kwalletd/kdewallet.kwl", "")
    }
    #expect(files.condition == .ok && files.found.contains("latchkey import kwallet"))
  }
}
