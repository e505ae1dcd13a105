import Foundation
import Testing

@testable import LatchkeyDoctor

/// Where both units can be masked, the record that says who did it, and the command that takes it back.
private let turnedOffWays = [
  ("/home/anna/.config", "", "systemctl --user unmask latchkeyd.socket latchkeyd.service"),
  ("/home/anna/.config", "/home/anna/.local/state/latchkey/switch.json", "'latchkey switch --to latchkey'"),
  // A record of other changes says nothing of masks that somebody made by hand.
  ("/home/anna/.config", "/home/anna/.local/state/latchkey/switch.json ", "systemctl --user unmask latchkeyd.socket"),
  ("/etc", "", "sudo systemctl --global unmask latchkeyd.socket latchkeyd.service"),
  ("/etc", "/etc/latchkey/switch.json", " && sudo latchkey switch --to latchkey --all-users'"),
]

/// What is not PAM: each check on files and facts in which all is well, then with one thing broken.
@Suite struct SessionTests {
  static let home = "/home/anna"
  static let runtime = "/run/user/1000"
  static let ours = "/usr/share/dbus-1/services/org.freedesktop.secrets.latchkey.service"
  static let socketLink = "/usr/lib/systemd/user/sockets.target.wants/latchkeyd.socket"

  /// A machine on which all is well. Its files belong to whoever runs the test.
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

  /// What is found after a change, and how.
  func after(_ id: String, _ change: (FakeSystem) throws -> Void) throws -> Finding {
    try told(id, { _ in }, change)
  }

  /// What is found where something else is known of the session.
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
    // A test that is not root's has a module that is not root's either; and there are no logins in these files.
    for finding in findings where finding.id != "pam" && (finding.id != "module" || getuid() == 0) {
      #expect(finding.condition == .ok, "\(finding)")
      #expect(finding.fix == nil)
    }
    #expect(Set(findings.map(\.id)).count == findings.count, "each name once")
  }

  // MARK: - what was installed

  @Test func module() throws {
    let folder = "/usr/lib/x86_64-linux-gnu/security"
    var found = try after("module") { try $0.remove("\(folder)/pam_latchkey.so") }
    #expect(found.condition == .broken && found.found.contains("is not in \(folder)"))
    #expect(found.fix == .advice("In Latchkey's sources, run: sudo make install PAMDIR=\(folder)"))
    let fromPackages: (FakeSystem) throws -> Void = {
      try $0.put("/usr/share/doc/libpam-latchkey/copyright", "")
      try $0.remove("\(folder)/pam_latchkey.so")
      try $0.remove("/usr/libexec/latchkey-prompt")
    }
    #expect(
      try after("module", fromPackages).fix == .command("sudo apt-get install --reinstall libpam-latchkey"))
    #expect(
      try after("programs", fromPackages).fix
        == .command("sudo apt-get install --reinstall latchkey libpam-latchkey"))
    found = try after("module") {
      try $0.remove("\(folder)/pam_latchkey.so")
      try $0.put("/usr/lib/security/pam_latchkey.so", "x")
    }
    #expect(found.condition == .broken && found.found.contains("it is in /usr/lib/security"))
    found = try after("module") { try $0.put("\(folder)/pam_latchkey.so", "#!/bin/sh, and no module at all") }
    #expect(found.condition == .broken && found.found.contains("another kind of machine"))
    found = try after("module") {
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o666], ofItemAtPath: "\($0.path)\(folder)/pam_latchkey.so")
    }
    #expect(
      found.condition == .broken
        && found.fix
          == .command("sudo chown root:root \(folder)/pam_latchkey.so && sudo chmod 644 \(folder)/pam_latchkey.so")
    )
    #expect(try after("module") { try $0.remove("/usr/lib/x86_64-linux-gnu") }.condition == .unknown)
  }

  @Test func programs() throws {
    #expect(try after("programs") { try $0.remove("/usr/libexec/latchkey-derive") }.found.contains("latchkey-derive"))
    #expect(try after("programs") { try $0.put("/usr/libexec/latchkeyd", "") }.condition == .broken)
    #expect(try after("programs") { try $0.remove("/usr/lib/systemd/user/latchkeyd.service") }.condition == .broken)
  }

  @Test func ownServices() throws {
    for (name, lines) in OwnServices.installed {
      let system = try Self.system()
      try system.remove("/etc/pam.d/\(name)")
      var found = try #require(Self.findings(system).one("pam.\(name)"))
      #expect(found.condition == .broken && found.found.contains("service does not exist"))
      guard let command = found.command else {
        Issue.record("no command")
        return
      }
      #expect(try system.run(command) == 0)
      #expect(Self.findings(system).one("pam.\(name)")?.condition == .ok)
      #expect(system.root.lines("/etc/pam.d/\(name)") == lines.map { $0[...] })
      try system.put("/etc/pam.d/\(name)", "account required pam_permit.so\n")
      found = try #require(Self.findings(system).one("pam.\(name)"))
      #expect(found.condition == .broken && found.found.contains("no line for auth"))
    }
    #expect(
      try after("pam.latchkey-item") { try $0.put("/etc/pam.d/latchkey-item", "auth required pam_latchkey.so\n") }
        .condition == .broken)
    #expect(
      try after("pam.latchkey-unlock") { try $0.put("/etc/pam.d/latchkey-unlock", "auth requisite pam_unix.so\n") }
        .condition == .broken)
  }

  /// What the fixes write is what is installed.
  @Test func installedServices() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../pam").path
    for (name, lines) in OwnServices.installed {
      let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
      let words = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map {
        $0.split(separator: " ").joined(separator: " ")
      }
      #expect(words == lines)
    }
  }

  @Test func sleepThatCannotBeHeldUp() throws {
    let polkit = "/usr/share/dbus-1/system-services/org.freedesktop.PolicyKit1.service"
    let found = try after("sleep") { try $0.remove(polkit) }
    #expect(found.condition == .warning && found.fix == .command("sudo apt-get install polkitd"))
    let system = try Self.system()
    try system.remove(polkit)
    var facts = Self.facts()
    facts.vault = .known(Self.vault(news: []))
    #expect(Self.findings(system, facts).one("sleep") == nil, "lock-news says it")
  }

  /// A password that is not in files is verified by another module.
  @Test(arguments: ["latchkey-unlock", "latchkey-presence"]) func accountsOfADirectory(_ name: String) throws {
    let id = "pam.\(name)"
    let system = try Self.system()
    try system.put("/etc/passwd", "root:x:0:0::/root:/bin/sh\nanna:x:\(getuid()):1000::/home/anna:/bin/sh\n")
    #expect(Self.findings(system).one(id)?.condition == .ok)
    try system.put("/etc/passwd", "other:x:\(getuid() + 1):\(getuid())::/:/bin/sh\n")
    var found = try #require(Self.findings(system).one(id))
    #expect(found.condition == .warning && found.found.contains("not in /etc/passwd"))
    guard case .advice(let advice)? = found.fix else {
      Issue.record("no advice")
      return
    }
    #expect(advice.contains("pam_latchkey(8)"))

    let directory = "auth [success=1 default=ignore] pam_sss.so use_first_pass\nauth requisite pam_deny.so\n"
    try system.put("/etc/pam.d/login", directory + "auth required pam_permit.so\n")
    found = try #require(Self.findings(system).one(id))
    guard let command = found.command else {
      Issue.record("no command")
      return
    }
    #expect(try system.run(command) == 0)
    #expect(Self.findings(system).one(id)?.condition == .ok)
    let expected = OwnServices.lines(of: name, asking: "pam_sss.so").map { $0[...] }
    #expect(system.root.lines("/etc/pam.d/\(name)") == expected)
  }

  /// The page has the file that the fix writes.
  @Test func documentedDirectory() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..").path
    let text = try String(contentsOfFile: "\(folder)/docs/man/pam_latchkey.8", encoding: .utf8)
    let lines = text.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
    let expected = OwnServices.lines(of: "latchkey-unlock", asking: "pam_sss.so")
    let start = try #require(lines.firstIndex(of: expected[0]))
    #expect(Array(lines[start...].prefix(expected.count)) == expected)
  }

  // MARK: - units

  @Test func units() throws {
    var found = try after("unit.socket") { try $0.remove(Self.socketLink) }
    #expect(found.condition == .broken && found.fix == .command("systemctl --user enable --now latchkeyd.socket"))
    #expect(
      try after("unit.socket") {
        try $0.remove(Self.socketLink)
        try $0.link("\(Self.home)/.config/systemd/user/sockets.target.wants/latchkeyd.socket", to: "/nowhere")
      }.condition == .ok)
    found = try after("unit.socket") {
      try $0.link("\(Self.home)/.config/systemd/user/latchkeyd.socket", to: "/dev/null")
    }
    #expect(found.condition == .broken && found.found.contains("masked by \(Self.home)"))
    guard let command = found.command else { Issue.record("no command"); return }
    #expect(command.hasPrefix("rm \(Self.home)/"), "one of two is a mistake")
    found = try told(
      "unit.socket", { $0.userUnits = .known(["latchkeyd.socket": .init(load: "loaded", active: "failed")]) })
    #expect(found.condition == .broken && found.found.contains("failed"))
    found = try told(
      "unit.daemon", { $0.userUnits = .known(["latchkeyd.service": .init(load: "loaded", active: "failed")]) })
    #expect(found.condition == .broken)
    found = try told(
      "unit.daemon", { $0.userUnits = .known(["latchkeyd.service": .init(load: "loaded", active: "inactive")]) })
    #expect(found.condition == .warning && found.fix == .command("systemctl --user start latchkeyd.service"))
    found = try told("unit.first-unlock", { $0.vault = .known(Self.vault(unlocked: false)) })
    #expect(found.condition == .warning)
    found = try told(
      "unit.device", { $0.systemUnits = .known(["latchkey-deviced.socket": .init(load: "loaded", active: "inactive")]) }
    )
    #expect(found.condition == .warning)
    found = try told(
      "unit.device", { $0.systemUnits = .known(["latchkey-deviced.socket": .init(load: "masked", active: "inactive")]) }
    )
    guard let unmask = found.command else { Issue.record("no command"); return }
    #expect(unmask.contains("unmask"))
    for id in ["unit.socket", "unit.daemon"] {
      #expect(try told(id, { $0.userUnits = .unknown("no bus") }) == .unknown(id, "no bus"))
    }
  }

  /// Both units are masked: nothing else is a fault then.
  @Test(arguments: turnedOffWays)
  func turnedOff(folder: String, record: String, command: String) throws {
    let system = try Self.system()
    for kind in ["socket", "service"] { try system.link("\(folder)/systemd/user/latchkeyd.\(kind)", to: "/dev/null") }
    try system.put("/dev/null", "")
    let isOfOthers = record.hasSuffix(" ")
    let changed = isOfOthers ? "gnome-keyring-daemon.socket" : "latchkeyd.socket"
    if !record.isEmpty {
      try system.put(isOfOthers ? String(record.dropLast()) : record, #"{"changes":[{"path":"/\#(changed)"}]}"#)
    }
    for (path, text) in Distributions.debian where path != "/usr/share/pam-configs/latchkey" {
      try system.put(path, text)
    }
    try system.put("/usr/bin/keepassxc", "")
    try system.put("\(Self.home)/.config/keepassxc/keepassxc.ini", "[FdoSecrets]\nEnabled=true\n")
    try system.process(12, "keepassxc", uid: Int(getuid()))
    var facts = Self.facts()
    facts.vault = .unknown("why")
    facts.secretsOwner = .known(.process(12))
    facts.userUnits = .known([:])
    facts.lockedAccount = "anna"
    let findings = Self.findings(system, facts)
    for id in ["unit.socket", "unit.daemon"] {
      let found = try #require(findings.one(id))
      #expect(found.condition == .ok && found.found.contains("on purpose") && found.found.contains(command))
    }
    #expect(
      findings.one("name")?.found.hasPrefix("not needed while Latchkey is off: KeePassXC (process 12) owns") == true)
    for id in ["vault", "vault.files", "programs", "provider.keepassxc"] {
      #expect(findings.one(id)?.condition == .ok)
    }
    #expect((MachineSwitch(root: system.root).mask != nil) == (folder == "/etc"))
    // No stack needs the module where all users are without Latchkey.
    let login = try #require(findings.one("pam.login"))
    #expect(login.condition == (folder == "/etc" ? .ok : .broken) && login.found.contains("not in auth"))
    try system.put("/etc/pam.d/login", "@include nowhere\n")
    #expect(Self.findings(system, facts).one("pam.login")?.condition == .broken, "nobody can log in")
  }

  // MARK: - the name

  @Test func activation() throws {
    let link = "\(Self.runtime)/dbus-1/services/org.freedesktop.secrets.service"
    #expect(try after("activation") { try $0.remove(link) }.condition == .ok, "nobody else is there")
    var found = try after("activation") {
      try $0.remove(link)
      try $0.put("/usr/share/dbus-1/services/org.freedesktop.secrets.service", "Exec=/usr/bin/gnome-keyring-daemon\n")
    }
    #expect(found.condition == .warning && found.found.contains("chance") == false && found.fix != nil)
    found = try after("activation") {
      try $0.remove(link)
      try $0.put(link, "Exec=/usr/bin/other\n")
    }
    #expect(found.condition == .warning && found.found.contains("another program"))
    // The bus ignores a folder that others can write to.
    found = try after("activation") {
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o775], ofItemAtPath: "\($0.path)\(Self.runtime)/dbus-1")
    }
    #expect(found.condition == .warning && found.found.contains("other users can write to \(Self.runtime)/dbus-1"))
    #expect(
      try after("activation") {
        try $0.remove(Self.ours); try $0.remove(link)
      }.condition == .broken)
    #expect(try told("activation", { $0.runtime = "/nowhere" }).condition == .unknown)
  }

  @Test func policy() throws {
    let file = "/etc/dbus-1/session.d/x.conf"
    var found = try after("bus-policy") {
      try $0.put(
        file, "<busconfig><policy context=\"default\">\n<deny\n own=\"org.freedesktop.secrets\"/></policy></busconfig>")
    }
    #expect(found.condition == .broken)
    #expect(found.found == "\(file) forbids the name: <deny own=\"org.freedesktop.secrets\"/>")
    found = try after("bus-policy") {
      try $0.put(file, "<deny own=\"org.example\"/><allow own=\"org.freedesktop.secrets\"/>")
    }
    #expect(found.condition == .ok)
  }

  // MARK: - memory, vault, home

  @Test func memory() throws {
    for (id, process) in [("memory.manager", 10), ("memory.daemon", 11)] {
      let name = process == 10 ? "systemd" : "latchkeyd"
      for (limit, condition) in [("65536", Finding.Condition.warning), ("unlimited", .ok), ("8388608", .ok)] {
        let found = try after(id) {
          try $0.process(process, name, uid: Int(getuid()), arguments: [name, "--user"], lock: limit)
        }
        #expect(found.condition == condition)
        #expect((found.fix == nil) == (condition == .ok))
      }
      #expect(try after(id) { try $0.remove("/proc/\(process)") }.condition == .unknown)
      #expect(try after(id) { try $0.remove("/proc/\(process)/limits") }.condition == .unknown)
    }
    #expect(try told("memory.locked", { $0.vault = .known(Self.vault(locked: false)) }).condition == .broken)
  }

  @Test func freedMemory() throws {
    let config = "/boot/config-6.1.0"
    for (cmdline, built, clears) in [
      ("root=/dev/sda quiet", "CONFIG_X=y\n", false), ("root=/dev/sda init_on_free=1 quiet", "", true),
      ("quiet", "CONFIG_X=y\nCONFIG_INIT_ON_FREE_DEFAULT_ON=y\n", true),
      ("init_on_free=0", "CONFIG_INIT_ON_FREE_DEFAULT_ON=y\n", false), ("init_on_free=1 init_on_free=0", "", false),
      ("quiet", "# CONFIG_INIT_ON_FREE_DEFAULT_ON is not set\n", false), ("init_on_free=on", "", true),
    ] {
      let found = try after("memory.freed") {
        try $0.put("/proc/cmdline", cmdline + "\n")
        try $0.put("/proc/sys/kernel/osrelease", "6.1.0\n")
        try $0.put(config, built)
      }
      #expect(found.condition == .ok)
      #expect(found.fix == nil)
      #expect(found.found.contains("does not clear") != clears, "\(cmdline), \(built)")
      #expect(found.found.contains("the boot option init_on_free=1") != clears)
    }
  }

  @Test("A check that is well has nothing to fix")
  func nothingToFix() {
    let fix = Finding.Fix.command("true")
    #expect(Finding("x", .ok, "", fix: fix).fix == nil && Finding("x", .warning, "", fix: fix).fix == fix)
  }

  @Test func vault() throws {
    let found = try told("vault", { $0.vault = .known(Self.vault(problems: ["vault.db: damaged", "x"])) })
    #expect(found.condition == .broken && found.found == "vault.db: damaged; x" && found.command == nil)
    var changed = Self.facts()
    changed.vault = .known(
      .init(
        deviceKey: "tpm", isMemoryLocked: true, isFirstUnlocked: false, isCreated: true, path: "/v",
        problems: ["changed"],
        lockSources: ["logind"], needsFormerPassword: true))
    let former = try #require(Self.findings(try Self.system(), changed).one("vault"))
    #expect(former.condition == .broken && former.command == "latchkey unlock")
    #expect(former.advice?.contains("the former one or the recovery code") == true)
    for (backend, condition) in [
      ("tpm", Finding.Condition.ok), ("host", .ok), ("", .ok), ("file", .warning), ("unavailable", .broken),
    ] {
      #expect(try told("device-key", { $0.vault = .known(Self.vault(device: backend)) }).condition == condition)
    }
    // There is nothing to lock or unlock then, and without a password 'latchkey unlock' creates nothing.
    let none = try told("device-key", { $0.vault = .known(Self.vault(device: "unavailable", created: false)) })
    guard case .advice(let advice) = none.fix else { return #expect(Bool(false), "\(none)") }
    #expect(none.condition == .broken && advice.contains("log out and in again") && !advice.contains("latchkey unlock"))
    // A repair that worked, alone and beside something else.
    for (problems, condition) in [(["repaired"], Finding.Condition.warning), (["repaired", "x"], .broken)] {
      let found = try told("vault") {
        $0.vault = .known(
          .init(
            deviceKey: "tpm", isMemoryLocked: true, isFirstUnlocked: true, isCreated: true, path: "/v",
            problems: problems, lockSources: ["logind"], repairs: ["repaired"]))
      }
      #expect(found.condition == condition && found.found.contains("repaired"))
      #expect(found.advice?.contains("until you log out") == (condition == .warning))
    }
    // What no restart brings back.
    for damage in [DesktopFacts.Vault.DeviceDamage.service, .user, .chip, .file] {
      var facts = Self.facts()
      facts.vault = .known(
        .init(
          deviceKey: "unavailable", isMemoryLocked: true, isFirstUnlocked: true, isCreated: true, path: "/v",
          problems: ["x"], lockSources: ["logind"], deviceDamage: damage))
      let found = Self.findings(try Self.system(), facts)
      let key = try #require(found.one("device-key"))
      #expect(
        key.condition == .broken && key.command == nil && found.one("vault")?.advice?.contains("device-key") == true)
      #expect(key.advice?.contains("/v/device.key") == (damage == .file))
      #expect(key.advice?.contains("device move tpm") == (damage == .chip))
      // Nobody else's key is put aside for one user's file.
      #expect(key.advice?.contains("/var/lib/latchkey.damaged") == (damage == .service || damage == .chip))
    }
    let hint = try told("device-key", { $0.vault = .known(Self.vault(device: "host")) }) {
      try $0.put("/dev/tpmrm0", "")
    }
    #expect(hint.found.contains("latchkey device move tpm"))
    for id in ["vault", "device-key", "memory.locked"] {
      #expect(try told(id, { $0.vault = .unknown("why") }) == .unknown(id, "why"))
    }
  }

  @Test("Where a backup helps only, it is said that an empty vault comes first")
  func startAgain() throws {
    let found = try told("vault.files", { _ in }) {
      for name in ["keybag", "keybag.copy"] { try $0.put("\(Self.home)/.local/share/latchkey/\(name)", "cut") }
    }
    let words = try #require(found.advice).split(separator: "'").map(String.init)
    #expect(
      words.filter { $0.hasPrefix("latchkey ") } == ["latchkey start-empty", "latchkey unlock", "latchkey restore"])
  }

  @Test("An account by which no password fits cannot have a vault")
  func lockedAccount() throws {
    #expect(try told("vault.files", { $0.lockedAccount = nil }).condition == .ok)
    let found = try told("vault.files", { $0.lockedAccount = "anna" })
    #expect(found.condition == .warning && found.found.contains("no local password"))
    guard case .advice(let advice)? = found.fix else { Issue.record("no advice"); return }
    #expect(advice.contains("'sudo passwd anna'") && advice.contains("mask latchkeyd.socket latchkeyd.service"))
  }

  @Test func home() throws {
    #expect(try told("home.file-system", { _ in }).found == "/home is btrfs")
    let mounts =
      "22 1 0:20 / / rw - ext4 /dev/vda rw\n23 22 0:21 / /home/anna rw - autofs x rw\n24 23 0:22 / /home/anna rw a b - nfs4 a:/ rw\n"
    #expect(try after("home.file-system") { try $0.put("/proc/self/mountinfo", mounts) }.condition == .warning)
    let below = mounts + "25 24 0:23 / /home/anna/.local/share rw - ext4 /dev/vdb rw\n"
    #expect(try after("home.file-system") { try $0.put("/proc/self/mountinfo", below) }.condition == .ok)
    func mode(_ mode: Int, _ path: String) throws -> Finding {
      try after("home.folders") {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: $0.path + path)
      }
    }
    #expect(try mode(0o777, Self.home).fix == .command("chmod go-w /home/anna"))
    #expect(try mode(0o755, Self.home).condition == .ok)
    #expect(
      try mode(0o750, "\(Self.home)/.local/share/latchkey").fix
        == .command("chmod 700 /home/anna/.local/share/latchkey"))
    #expect(try told("home.folders", { $0.uid = getuid() &+ 1 }).condition == .broken)
    let odd = try FakeSystem(["/home/it's me/x": ""])
    var facts = Self.facts()
    facts.home = "/home/it's me"
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: odd.path + facts.home)
    #expect(Self.findings(odd, facts).one("home.folders")?.fix == .command("chmod go-w '/home/it'\\''s me'"))
  }

  // MARK: - lockers and prompts

  private func locker(_ change: (FakeSystem, Int) throws -> Void) throws -> Finding {
    try after("locker") {
      try $0.put("/run/systemd/sessions/3", "UID=\(getuid())\nTYPE=wayland\nCLASS=user\n")
      try change($0, Int(getuid()))
    }
  }

  @Test func lockers() throws {
    #expect(try locker { _, _ in }.condition == .warning)
    #expect(try locker { system, uid in try system.process(60, "xss-lock", uid: uid) }.condition == .ok)
    #expect(try locker { system, uid in try system.process(60, "gnome-shell", uid: uid) }.condition == .ok)
    var found = try locker { system, uid in try system.process(60, "swaylock", parent: 59, uid: uid) }
    #expect(
      found.condition == .warning
        && found.fix == .advice("Replace 'swaylock' there with: latchkey lock; swaylock"))
    found = try locker { system, uid in
      try system.process(58, "xss-lock", uid: uid)
      try system.process(59, "sh", parent: 58, uid: uid)
      try system.process(60, "i3lock", parent: 59, uid: uid)
    }
    #expect(found.condition == .ok)
    found = try locker { system, uid in
      try system.process(58, "xss-lock", uid: uid)
      try system.put(
        "\(Self.home)/.config/i3/config",
        "# bindsym $mod+l exec i3lock\nbindsym $mod+l exec --no-startup-id i3lock -n\n")
    }
    #expect(found.condition == .warning && found.found.contains(".config/i3/config"))
    found = try locker { system, uid in
      try system.process(58, "swayidle", uid: uid)
      try system.put(
        "\(Self.home)/.config/sway/config",
        "bindsym $mod+l exec \"latchkey lock; swaylock\"\nexec swayidle lock swaylock\n")
    }
    #expect(found.condition == .ok)
    #expect(
      try after("locker") { try $0.put("/run/systemd/sessions/3", "UID=\(getuid())\nTYPE=tty\nCLASS=user\n") }.condition
        == .ok)
    #expect(
      try after("locker") { try $0.put("/run/systemd/sessions/3", "UID=\(getuid() &+ 1)\nTYPE=x11\nCLASS=user\n") }
        .condition == .ok)
    #expect(
      try told("locker", { $0.ownedNames = ["org.mate.ScreenSaver"] }) {
        try $0.put("/run/systemd/sessions/3", "UID=\(getuid())\nTYPE=x11\nCLASS=user\n")
      }.condition == .ok)
    let deaf = try told("lock-news", { $0.vault = .known(Self.vault(news: ["screen savers on the bus"])) })
    #expect(deaf.condition == .broken && deaf.fix != nil)
    #expect(try told("lock-news", { $0.vault = .unknown("why") }) == .unknown("lock-news", "why"))
  }

  @Test func prompts() throws {
    let display: (inout DesktopFacts) -> Void = { $0.hasDisplay = true }
    let found = try told("prompts", display)
    #expect(found.condition == .warning && found.fix == .command("sudo apt-get install gcr"))
    #expect(
      try told(
        "prompts",
        {
          display(&$0); $0.busNames = .known(["org.gnome.keyring.SystemPrompter"])
        }
      ).condition == .ok)
    #expect(try told("prompts", display) { try $0.put("/usr/bin/pinentry", "") }.condition == .ok)
    #expect(
      try told(
        "prompts",
        {
          display(&$0); $0.busNames = .unknown("why")
        }
      ).condition == .unknown)
    let onTerminal = try told("prompts", { $0.terminal = .usable("/dev/ttyS0") })
    #expect(onTerminal.condition == .ok && onTerminal.found.contains("/dev/ttyS0"))
    let foreign = try told("prompts", { $0.terminal = .unusable("/dev/pts/3") })
    #expect(foreign.condition == .warning && foreign.found.contains("/dev/pts/3") && foreign.fix != nil)
    let nowhere = try told("prompts", { $0.terminal = .none })
    #expect(nowhere.condition == .ok && nowhere.found.contains("no terminal here"))
    let service = "/usr/share/dbus-1/system-services/net.reactivated.Fprint.service"
    #expect(
      try after("fingers") { try $0.put(service, "") }.fix == .command("sudo apt-get install fprintd libpam-fprintd"))
    #expect(
      try after("fingers") {
        try $0.put(service, "")
        try $0.put("/usr/lib/x86_64-linux-gnu/security/pam_fprintd.so", "")
      }.condition == .ok)
  }
}
