import Foundation
import Testing

@testable import LatchkeyDoctor

/// The places in which both units can be masked, the record of the switch, and the command that unmasks the units.
private let turnedOffWays = [
  ("/home/anna/.config", "", "systemctl --user unmask latchkeyd.socket latchkeyd.service"),
  ("/home/anna/.config", "/home/anna/.local/state/latchkey/switch.json", "'latchkey switch --to latchkey'"),
  // A record of other changes does not explain masks that somebody made by hand.
  ("/home/anna/.config", "/home/anna/.local/state/latchkey/switch.json ", "systemctl --user unmask latchkeyd.socket"),
  ("/etc", "", "sudo systemctl --global unmask latchkeyd.socket latchkeyd.service"),
  ("/etc", "/etc/latchkey/switch.json", " && sudo latchkey switch --to latchkey --all-users'"),
]

/// The units of systemd, and sleep.
extension SessionTests {
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

  /// If both units are masked, nothing else counts as a fault.
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
    // If Latchkey is turned off for all users, no stack needs the module.
    let login = try #require(findings.one("pam.login"))
    #expect(login.condition == (folder == "/etc" ? .ok : .broken) && login.found.contains("not in auth"))
    try system.put("/etc/pam.d/login", "@include nowhere\n")
    #expect(Self.findings(system, facts).one("pam.login")?.condition == .broken, "nobody can log in")
  }
}
