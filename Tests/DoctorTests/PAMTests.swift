import Foundation
import Testing

@testable import LatchkeyDoctor

/// For the PAM files of each distribution, doctor names the missing line, and its fix repairs the files.
@Suite struct PAMTests {
  enum Kind: CaseIterable { case debian, ubuntu, fedora, arch, suse }

  static func system(_ kind: Kind) throws -> FakeSystem {
    switch kind {
    case .debian: return try FakeSystem(Distributions.debian)
    case .ubuntu: return try FakeSystem(Distributions.ubuntu)
    case .fedora:
      let system = try FakeSystem(Distributions.fedora)
      for name in Distributions.fedoraLinks { try system.link("/etc/pam.d/\(name)", to: "/etc/authselect/\(name)") }
      return system
    case .arch: return try FakeSystem(Distributions.arch)
    case .suse:
      let system = try FakeSystem(Distributions.suse)
      for name in Distributions.suseLinks { try system.link("/etc/pam.d/\(name)", to: "\(name)-pc") }
      return system
    }
  }

  static func findings(_ system: FakeSystem) -> [Finding] { PAMExamination(root: system.root).findings() }

  /// The services that doctor checks.
  static let services: [Kind: Set<String>] = [
    .debian: ["login", "sshd", "lightdm", "i3lock", "xscreensaver", "passwd"],
    .ubuntu: ["login", "sshd", "lightdm", "i3lock", "xscreensaver", "passwd", "gdm-password", "gdm-autologin"],
    .fedora: ["login", "sshd", "gdm-password", "passwd", "swaylock"],
    .arch: ["login", "sshd", "gdm-password", "passwd", "i3lock", "hyprlock", "xfce4-screensaver"],
    .suse: ["login", "sshd", "passwd", "swaylock"],
  ]

  @Test(arguments: Kind.allCases) func nothingThere(_ kind: Kind) throws {
    let findings = Self.findings(try Self.system(kind))
    #expect(Set(findings.map(\.id)) == Set(Self.services[kind, default: []].map { "pam.\($0)" }))
    for finding in findings {
      #expect(finding.condition == (finding.id == "pam.gdm-autologin" ? .warning : .broken), "\(finding)")
      #expect(finding.found.contains("not in"), "\(finding)")
    }
  }

  @Test(arguments: Kind.allCases) func mendsMakeItWell(_ kind: Kind) throws {
    let system = try Self.system(kind)
    var count = 0
    while let finding = Self.findings(system).first(where: { $0.condition != .ok }) {
      count += 1
      guard let command = finding.command, count < 10 else {
        Issue.record("no command fixes \(finding)")
        return
      }
      #expect(try system.run(command) == 0, "\(command)")
      let after = try #require(Self.findings(system).one(finding.id))
      #expect(after.condition < finding.condition, "after \(command): \(after)")
    }
    // One fix is enough if services share their files. Elsewhere each service needs its own.
    let most = [Kind.debian: 1, .ubuntu: 1, .fedora: 5, .arch: 1, .suse: 4][kind, default: 0]
    #expect(count > 0 && count <= most, "\(count) fixes")
    #expect(Self.findings(system).count == Self.services[kind, default: []].count)
  }

  @Test func debianByItsOwnProgram() throws {
    let system = try Self.system(.debian)
    let fix = Finding.Fix.command("sudo pam-auth-update --enable latchkey")
    #expect(Self.findings(system).allSatisfy { $0.fix == fix })
    // pam-auth-update does not change files that somebody edited, and still ends with 0.
    for finding in Self.findings(system) {
      let advice = try #require(finding.advice)
      #expect(advice.contains("local modifications") && advice.contains("Do not use --force"))
      #expect(advice.contains("'auth optional pam_latchkey.so' | sudo tee -a /etc/pam.d/common-auth"))
      #expect(advice.contains("/usr/share/doc/libpam-latchkey/README.md"))
    }
    // The profile is enabled, but somebody removed the line from one file. Enabling the profile again would do nothing.
    #expect(try system.run("sudo pam-auth-update --enable latchkey") == 0)
    try system.put("/var/lib/pam/auth", "Module: latchkey\noptional\tpam_latchkey.so\n")
    try system.put("/etc/pam.d/common-auth", try #require(Distributions.debian["/etc/pam.d/common-auth"]))
    let finding = try #require(Self.findings(system).one("pam.login"))
    #expect(
      finding.fix
        == .command("printf '%s\\n' 'auth optional pam_latchkey.so' | sudo tee -a /etc/pam.d/common-auth >/dev/null"))
  }

  @Test func fedoraKeepsProfileAndFeatures() throws {
    let system = try Self.system(.fedora)
    guard let command = Self.findings(system).one("pam.login")?.command else {
      Issue.record("no command")
      return
    }
    #expect(command.hasPrefix("sudo authselect create-profile latchkey -b local && "))
    #expect(command.hasSuffix("sudo authselect select custom/latchkey with-silent-lastlog with-fingerprint"))
    #expect(try system.run(command) == 0)
    let after = Self.findings(system)
    #expect(after.one("pam.passwd")?.condition == .ok)
    for id in ["pam.login", "pam.sshd", "pam.gdm-password"] {
      // The `password` lines of these services do not include the repaired file.
      #expect(after.one(id)?.condition == .warning && after.one(id)?.found.hasPrefix("not in password") == true)
    }
    // A line of an included file can end the whole stack, so the line behind the `include` is never reached.
    let locker = try #require(after.one("pam.swaylock"))
    #expect(locker.condition == .broken)
    guard let fix = locker.command else {
      Issue.record("no command")
      return
    }
    #expect(fix.contains("substack") && fix.contains("tee -a /etc/pam.d/swaylock"))
    #expect(try system.run(fix) == 0)
    #expect(Self.findings(system).one("pam.swaylock")?.condition == .ok)
  }

  @Test func linesOfPackagesAreNotChanged() throws {
    let system = try Self.system(.suse)
    let finding = try #require(Self.findings(system).one("pam.sshd"))
    guard let command = finding.command else {
      Issue.record("no command")
      return
    }
    #expect(command.hasPrefix("sudo cp /usr/lib/pam.d/sshd /etc/pam.d/sshd && "))
    #expect(try system.run(command) == 0)
    // The file's last line had no line end.
    #expect(system.root.lines("/etc/pam.d/sshd").contains("auth optional pam_latchkey.so"))
    #expect(Self.findings(system).one("pam.sshd")?.condition == .ok)
  }

  // MARK: - in the wrong place

  private func finding(auth: String = "", session: String = "", password: String = "") throws -> Finding {
    func lines(_ kind: String, _ text: String) -> String {
      text.split(separator: ";").map { "\(kind) \($0.drop { $0 == " " })\n" }.joined()
    }
    let system = try FakeSystem([
      "/etc/pam.d/login": lines("auth", auth.isEmpty ? "requisite pam_unix.so; optional pam_latchkey.so" : auth)
        + lines("session", session.isEmpty ? "optional pam_systemd.so; optional pam_latchkey.so" : session)
        + lines("password", password.isEmpty ? "required pam_unix.so; optional pam_latchkey.so" : password)
    ])
    return try #require(Self.findings(system).one("pam.login"))
  }

  @Test func inItsPlace() throws {
    #expect(try finding().condition == .ok)
    #expect(
      try finding(
        auth:
          "[success=1 default=die] pam_unix.so; requisite pam_deny.so; required pam_permit.so; optional pam_latchkey.so"
      )
      .condition == .ok)
    #expect(
      try finding(session: "-optional pam_systemd.so; optional /usr/lib/security/pam_latchkey.so debug").condition
        != .ok)
  }

  @Test func auth() throws {
    var found = try finding(auth: "optional pam_latchkey.so; requisite pam_unix.so")
    #expect(found.condition == .broken && found.found.contains("before pam_unix.so"))
    // The stack is the example of pam_faillock(8). If its last line is `required`, the lines behind it are reached.
    for (control, condition) in [("sufficient", Finding.Condition.broken), ("required", .ok)] {
      found = try finding(
        auth: """
          required pam_faillock.so preauth; [success=1 default=bad] pam_unix.so; [default=die] pam_faillock.so authfail; \
          \(control) pam_faillock.so authsucc; \(control == "required" ? "optional pam_permit.so" : "required pam_deny.so"); \
          optional pam_latchkey.so
          """)
      #expect(found.condition == condition, "\(found)")
      #expect(
        condition == .ok || found.found.contains("after pam_faillock.so, which ends the stack when pam_unix.so accepts")
      )
    }
    found = try finding(auth: "sufficient pam_unix.so; required pam_deny.so; optional pam_latchkey.so")
    #expect(found.condition == .broken && found.found.contains("after pam_unix.so, which ends the stack"))
    found = try finding(auth: "required pam_unix.so; optional pam_latchkey.so")
    #expect(found.condition == .warning && found.found.contains("wrong passwords"))
    #expect(found.fix != nil)
    found = try finding(auth: "required pam_mystery.so; optional pam_latchkey.so")
    #expect(found.condition == .unknown && found.fix == nil)
    found = try finding(
      auth: "[success=5 default=ignore] pam_unix.so; required pam_permit.so; optional pam_latchkey.so")
    #expect(found.condition == .unknown && found.found.contains("does not understand"))
    found = try finding(
      auth:
        "[success=2 default=ignore] pam_unix.so; [success=done default=ignore] pam_sss.so; requisite pam_deny.so; required pam_permit.so; optional pam_latchkey.so"
    )
    #expect(found.condition == .warning && found.found.contains("when pam_sss.so accepts"))
  }

  /// The module's line exists, so a second line changes nothing, and no command rewrites the other lines.
  @Test(arguments: [
    "sufficient pam_unix.so; optional pam_latchkey.so",
    "required pam_env.so; sufficient pam_unix.so nullok; required pam_deny.so; optional pam_latchkey.so",
    "sufficient pam_sss.so; required pam_unix.so; optional pam_latchkey.so",
    "[success=done default=ignore] pam_unix.so; optional pam_latchkey.so",
    "required pam_faillock.so preauth; [success=1 default=bad] pam_unix.so; [default=die] pam_faillock.so authfail; "
      + "sufficient pam_faillock.so authsucc; required pam_deny.so; optional pam_latchkey.so",
  ])
  func afterLinesThatEndTheStack(_ auth: String) throws {
    let found = try finding(auth: auth)
    #expect(
      found.condition != .ok && found.command == nil && found.advice?.contains("pam_latchkey(8)") == true, "\(found)")
  }

  @Test func session() throws {
    var found = try finding(session: "optional pam_latchkey.so; optional pam_systemd.so")
    #expect(found.condition == .broken && found.found.contains("before pam_systemd.so"))
    // Debian's lxdm names pam_systemd.so a second time, behind common-session.
    found = try finding(session: "optional pam_systemd.so; optional pam_latchkey.so; optional pam_systemd.so")
    #expect(found.condition == .ok)
    found = try finding(session: "optional pam_systemd.so; optional pam_latchkey.so; optional pam_mkhomedir.so")
    #expect(found.condition == .broken && found.found.contains("before pam_mkhomedir.so"))
    found = try finding(session: "optional pam_latchkey.so")
    #expect(found.condition == .warning && found.found.contains("no pam_systemd.so"))
    found = try finding(session: "optional pam_systemd.so")
    #expect(found.condition == .broken && found.found.contains("creates no vault"))
    found = try finding(
      session: "optional pam_systemd.so; [success=done default=ignore] pam_permit.so; optional pam_latchkey.so")
    #expect(found.condition == .broken && found.found.contains("after pam_permit.so"))
  }

  @Test func password() throws {
    var found = try finding(password: "optional pam_latchkey.so; required pam_unix.so")
    #expect(found.condition == .warning && found.found.contains("before pam_unix.so"))
    found = try finding(password: "sufficient pam_unix.so; required pam_deny.so; optional pam_latchkey.so")
    #expect(found.condition == .warning && found.found.contains("after pam_unix.so"))
    // Without a module for new passwords, the stack changes no password.
    #expect(try finding(password: "required pam_deny.so").condition == .ok)
  }

  @Test func filesThatCannotBeFollowed() throws {
    let system = try Self.system(.debian)
    try system.put("/etc/pam.d/login", "@include nowhere\n")
    var found = try #require(Self.findings(system).one("pam.login"))
    #expect(found.condition == .broken && found.found.contains("/etc/pam.d/nowhere does not exist"))
    try system.put("/etc/pam.d/login", "auth include login\n")
    found = try #require(Self.findings(system).one("pam.login"))
    #expect(found.condition == .broken && found.found.contains("too often"))
    try system.put("/etc/pam.d/login", "# a comment\nauth bogus pam_unix.so\n")
    found = try #require(Self.findings(system).one("pam.login"))
    #expect(found.condition == .broken && found.found.contains("/etc/pam.d/login, line 2, cannot be understood"))
    let empty = try FakeSystem()
    #expect(PAMExamination(root: empty.root).findings().map(\.condition) == [.unknown])
  }

  @Test func whereNobodyLogsIn() throws {
    let system = try Self.system(.debian)
    #expect(Self.findings(system).one("pam.cron") == nil)
    try system.append("session optional pam_latchkey.so", to: "/etc/pam.d/cron")
    let found = try #require(Self.findings(system).one("pam.cron"))
    guard found.condition == .warning, let command = found.command else {
      Issue.record("\(found)")
      return
    }
    #expect(try system.run(command) == 0)
    #expect(Self.findings(system).one("pam.cron") == nil)
    // If the line comes from a file that logins share, doctor does not remove it.
    #expect(try system.run("sudo pam-auth-update --enable latchkey") == 0)
    try system.append("session optional pam_latchkey.so", to: "/etc/pam.d/common-session-noninteractive")
    #expect(Self.findings(system).one("pam.cron") == nil && Self.findings(system).one("pam.lightdm-greeter") == nil)
  }

  /// pam/README.md has a whole file for a service whose password creates no vault.
  @Test func aLoginThatCreatesNoVault() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let readme = folder.appendingPathComponent("../../pam/README.md")
    let text = try String(contentsOf: readme, encoding: .utf8)
    let start = try #require(text.range(of: "a whole `/etc/pam.d/kiosk`:\n\n"))
    let end = try #require(text.range(of: "\n\n", range: start.upperBound..<text.endIndex))
    let system = try Self.system(.debian)
    #expect(try system.run("sudo pam-auth-update --enable latchkey") == 0)
    try system.put("/etc/pam.d/kiosk", String(text[start.upperBound..<end.lowerBound]) + "\n")
    #expect(Self.findings(system).one("pam.kiosk")?.condition == .ok)
    for kind in [PAMStack.Kind.auth, .session] {
      let ours = try PAMStack("kiosk", kind, in: system.root).entries.filter(\.isOurs)
      #expect(ours.map(\.options) == [["no_create"]])
    }
  }

  @Test func whatLooksLikeALogin() throws {
    let system = try Self.system(.debian)
    try system.put("/etc/pam.d/newdm", "@include common-auth\n@include common-session\n")
    let found = try #require(Self.findings(system).one("pam.newdm"))
    #expect(found.condition == .warning && found.fix == .command("sudo pam-auth-update --enable latchkey"))
    try system.put("/etc/pam.d/newdm.dpkg-old", "@include common-auth\n@include common-session\n")
    #expect(Self.findings(system).one("pam.newdm.dpkg-old") == nil)
  }
}
