import Foundation
import Testing

@testable import LatchkeyDoctor

/// The checks outside PAM. Each runs on a system in which all is well, and then with one fault.
@Suite struct SessionTests {
  static let home = "/home/anna"
  static let runtime = "/run/user/1000"
  static let ours = "/usr/share/dbus-1/services/org.freedesktop.secrets.latchkey.service"
  static let socketLink = "/usr/lib/systemd/user/sockets.target.wants/latchkeyd.socket"

  /// A machine on which all is well. Its files belong to the user of the test.
  static func system() throws -> FakeSystem {
    let system = try FakeSystem([
      "/etc/os-release": "ID=debian\n", ours: "[D-BUS Service]\nSystemdService=latchkeyd.service\n",
      "/usr/lib/systemd/user/latchkeyd.service": "[Service]\nExecStart=/usr/libexec/latchkeyd --rules x\n",
      "/usr/lib/systemd/user/latchkeyd.socket": "[Socket]\n",
      "/usr/lib/systemd/user/latchkey-first-unlock.target": "[Unit]\n",
      "/proc/self/mountinfo":
        "22 1 0:20 / / rw - ext4 /dev/vda rw\n23 22 0:21 / /home rw shared:1 - btrfs /dev/vdb rw\n24 22 0:22 / /homes rw - nfs4 a:/ rw\n",
      "/usr/share/dbus-1/system-services/org.freedesktop.PolicyKit1.service": "[D-BUS Service]\n",
      "/home/anna/.local/share/latchkey/keybag.lock": "", "/proc/cmdline": "quiet init_on_free=1\n",
    ])
    let link = "\(runtime)/dbus-1/services/org.freedesktop.secrets.service"
    try system.link(link, to: ours)
    try system.link(socketLink, to: "../latchkeyd.socket")
    for name in ["latchkeyd", "latchkey-derive", "latchkey-prompt", "latchkey-deviced"] {
      try system.put("/usr/libexec/\(name)", "", mode: 0o755)
    }
    let head = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/exe")).read(upToCount: 64) ?? Data()
    for name in ["pam_unix.so", "pam_latchkey.so"] {
      try system.put("/usr/lib/x86_64-linux-gnu/security/\(name)", "")
      try head.write(to: URL(fileURLWithPath: "\(system.path)/usr/lib/x86_64-linux-gnu/security/\(name)"))
    }
    for (name, lines) in OwnServices.installed {
      try system.put("/etc/pam.d/\(name)", lines.map { $0 + "\n" }.joined())
    }
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o700], ofItemAtPath: "\(system.path)/home/anna/.local/share/latchkey")
    try system.process(10, "systemd", uid: Int(getuid()), arguments: ["/lib/systemd/systemd", "--user"])
    try system.process(11, "latchkeyd", uid: Int(getuid()))
    return system
  }

  static func facts() -> DesktopFacts {
    var facts = DesktopFacts(uid: getuid(), home: home, runtime: runtime)
    facts.vault = .known(vault())
    facts.secretsOwner = .known(.process(11))
    facts.busNames = .known([])
    facts.userUnits = .known([
      "latchkeyd.socket": .init(load: "loaded", active: "active"),
      "latchkeyd.service": .init(load: "loaded", active: "active"),
      "latchkey-first-unlock.target": .init(load: "loaded", active: "active"),
    ])
    facts.systemUnits = .known(["latchkey-deviced.socket": .init(load: "loaded", active: "active")])
    return facts
  }

  static func vault(
    device: String = "tpm", locked: Bool = true, unlocked: Bool = true, created: Bool = true,
    problems: [String] = [], news: [String] = ["logind"]
  )
    -> DesktopFacts.Vault
  {
    .init(
      deviceKey: device, isMemoryLocked: locked, isFirstUnlocked: unlocked, isCreated: created, path: "/v",
      problems: problems, lockSources: news)
  }

  static func findings(_ system: FakeSystem, _ facts: DesktopFacts = facts()) -> [Finding] {
    Doctor(root: system.root, facts: facts, program: "/proc/self/exe").findings()
  }

  /// The finding of one check, after `change` changed files.
  func after(_ id: String, _ change: (FakeSystem) throws -> Void) throws -> Finding {
    try told(id, { _ in }, change)
  }

  /// The finding of one check, with other facts about the session.
  func told(
    _ id: String, _ changeFacts: (inout DesktopFacts) -> Void, _ change: (FakeSystem) throws -> Void = { _ in }
  ) throws -> Finding {
    let system = try Self.system()
    var facts = Self.facts()
    changeFacts(&facts)
    try change(system)
    return try #require(Self.findings(system, facts).one(id))
  }

  @Test func allIsWell() throws {
    let findings = Self.findings(try Self.system())
    // A user other than root owns the test's module, so that check fails. These files also have no login service.
    for finding in findings where finding.id != "pam" && (finding.id != "module" || getuid() == 0) {
      #expect(finding.condition == .ok, "\(finding)")
      #expect(finding.fix == nil)
    }
    #expect(Set(findings.map(\.id)).count == findings.count, "each name once")
  }

  @Test("A check that passes has nothing to fix")
  func nothingToFix() {
    let fix = Finding.Fix.command("true")
    #expect(Finding("x", .ok, "", fix: fix).fix == nil && Finding("x", .warning, "", fix: fix).fix == fix)
  }
}
