import Foundation
import Glibc
import Testing

@testable import LatchkeyDoctor

/// The owner of the bus name, and other programs that could own it.
extension SessionTests {
  @Test func owner() throws {
    #expect(try told("name", { $0.secretsOwner = .known(.nobody) }).condition == .broken)
    #expect(try told("name", { $0.secretsOwner = .unknown("why") }) == .unknown("name", "why"))
    #expect(try told("name", { $0.secretsOwner = .known(.process(0)) }).condition == .unknown)
    let found = try told("name", { $0.secretsOwner = .known(.process(50)) }) {
      try $0.process(50, "gnome-keyring-d", uid: Int(getuid()))
    }
    #expect(found.condition == .broken && found.found.contains("gnome-keyring (process 50)"))
    guard let command = found.command else { Issue.record("no command"); return }
    #expect(command == "latchkey switch --to latchkey")
  }

  @Test func whoWaitsForTheName() throws {
    let found = try told("name", { $0.secretsQueue = .known([11, 50]) }) {
      try $0.process(50, "gnome-keyring-d", uid: Int(getuid()))
    }
    #expect(found.condition == .warning && found.found.contains("gnome-keyring (process 50) waits for the name"))
    #expect(found.fix == .command("latchkey switch --to latchkey"))
    #expect(try told("name", { $0.secretsQueue = .known([11]) }).condition == .ok)
    let behind = try told("name", { $0.secretsQueue = .known([11, 11, 50]) }) {
      try $0.process(50, "gnome-keyring-d", uid: Int(getuid()))
    }
    #expect(behind.condition == .ok && behind.found.contains("gnome-keyring (process 50) waits behind it"))
    #expect(try told("name", { $0.secretsQueue = .unknown("why") }).condition == .ok)
  }

  @Test("Ssh agents of other keyrings, which no lock of the vault reaches")
  func agents() throws {
    let uid = Int(getuid())
    for (id, place, process) in [
      ("ssh-agent.gnome-keyring", "keyring", "gnome-keyring-d"), ("ssh-agent.gcr", "gcr", "gcr-ssh-agent"),
    ] {
      let socket = "\(Self.runtime)/\(place)/ssh"
      #expect(Self.findings(try Self.system()).one(id) == nil)
      // The agent has ended, and its socket still exists.
      let leftover = try Self.system()
      try leftover.put(socket, "")
      #expect(Self.findings(leftover).one(id) == nil)
      let found = try after(id) {
        try $0.put(socket, "")
        try $0.process(60, process, uid: uid)
      }
      #expect(found.condition == .ok)
      #expect(found.found.contains("signs") && found.found.contains("while the vault is locked"))
    }
  }

  @Test func otherProviders() throws {
    let install: (FakeSystem) throws -> Void = {
      try $0.put("/usr/bin/gnome-keyring-daemon", "", mode: 0o755)
      try $0.put("/usr/lib/systemd/user/gnome-keyring-daemon.socket", "")
      try $0.put(
        "/etc/xdg/autostart/gnome-keyring-secrets.desktop",
        "[Desktop Entry]\nExec=/usr/bin/gnome-keyring-daemon --start --components=secrets\n")
    }
    let id = "provider.gnome-keyring"
    #expect(Self.findings(try Self.system()).one(id) == nil)
    // latchkeyd owned the name first.
    #expect(try after(id, install).condition == .ok)
    let nobody: (inout DesktopFacts) -> Void = { $0.secretsOwner = .known(.nobody) }
    #expect(try told(id, nobody, install).condition == .warning)
    #expect(
      try told(id, nobody) {
        try install($0)
        try $0.put("\(Self.home)/.config/autostart/gnome-keyring-secrets.desktop", "[Desktop Entry]\nHidden=true\n")
      }.condition == .ok)
    #expect(
      try told(id, nobody) {
        try install($0)
        try $0.put("\(Self.home)/.config/autostart/gnome-keyring-secrets.desktop", "Hidden=true\n")
        try $0.link("/etc/systemd/user/sockets.target.wants/gnome-keyring-daemon.socket", to: "/x")
      }.condition == .warning)
    let wallet = try told("provider.kwallet", nobody) { try $0.put("/usr/bin/kwalletd6", "") }
    #expect(wallet.condition == .warning && wallet.found.contains("(/usr/bin/kwalletd6, by default)"))
    #expect(
      try told("provider.kwallet", nobody) {
        try $0.put("/usr/bin/kwalletd5", "")
        try $0.put("/etc/xdg/kwalletrc", "[org.freedesktop.secrets]\napiEnabled=true\n")
      }.found.contains("(/etc/xdg/kwalletrc)"))
    #expect(
      try told("provider.kwallet", nobody) {
        try $0.put("/usr/bin/kwalletd6", "")
        try $0.put(
          "\(Self.home)/.config/kwalletrc", "[Wallet]\nEnabled=true\n\n[org.freedesktop.secrets]\napiEnabled=false\n")
      }.condition == .ok)
    let keepassxc: (FakeSystem) throws -> Void = { try $0.put("/usr/bin/keepassxc", "") }
    #expect(try told("provider.keepassxc", nobody, keepassxc).condition == .ok)
    let found = try told("provider.keepassxc", nobody) {
      try keepassxc($0)
      try $0.put(
        "\(Self.home)/.config/keepassxc/keepassxc.ini", "[Browser]\nEnabled=false\n[FdoSecrets]\nEnabled=true\n")
    }
    #expect(found.condition == .warning)
    #expect(
      try told("provider.oo7", nobody) {
        try $0.put("/usr/lib/systemd/user/oo7-daemon.service", "")
        try $0.link("/etc/systemd/user/default.target.wants/oo7-daemon.service", to: "/x")
      }.condition == .warning)
    #expect(
      try told("provider.pass-secret-service", nobody) { try $0.put("/usr/bin/pass_secret_service", "") }.condition
        == .ok)
    // Fedora has oo7's service under this name of the bus, and a unit for pass-secret-service.
    for (id, unit) in [
      ("provider.bus-activated", "dbus-org.freedesktop.secrets.service"),
      ("provider.pass-secret-service", "pass-secret-service.service"),
    ] {
      func install(_ system: FakeSystem) throws {
        try system.put("/usr/lib/systemd/user/\(unit)", "[Service]\nExecStart=/usr/bin/pass_secret_service\n")
      }
      #expect(try told(id, nobody, install).condition == .ok)
      let found = try told(id, nobody) {
        try install($0)
        try $0.link("/etc/systemd/user/default.target.wants/\(unit)", to: "/x")
      }
      #expect(found.condition == .warning && found.found.contains(unit))
      #expect(
        try told(id, nobody) {
          try install($0)
          try $0.link("/etc/systemd/user/default.target.wants/\(unit)", to: "/x")
          try $0.link("\(Self.home)/.config/systemd/user/\(unit)", to: "/dev/null")
        }.condition == .ok)
    }
  }

  @Test func anotherSSHAgentBesideLatchkeys() throws {
    var facts = Self.facts()
    facts.agentSocket = "\(Self.runtime)/gcr/ssh"
    let system = try Self.system()
    #expect(Self.findings(system, facts).one("ssh-agent") == nil)
    try system.put("/usr/lib/systemd/user/latchkey-ssh-agent.socket", "[Socket]\n")
    let found = Self.findings(system, facts).one("ssh-agent")
    #expect(found?.condition == .warning && found?.command == "latchkey switch --to latchkey --ssh-agent")
    facts.agentSocket = "\(Self.runtime)/latchkey/ssh"
    #expect(Self.findings(system, facts).one("ssh-agent")?.condition == .ok)
    facts.agentSocket = "/tmp/ssh-forwarded/agent.1"
    #expect(Self.findings(system, facts).one("ssh-agent") == nil)
  }

  @Test func aPortalsFileThatLeadsToLatchkeyAfterItSteppedAside() throws {
    let file = "\(Self.home)/.config/xdg-desktop-portal/kde-portals.conf"
    let line = "[preferred]\ndefault=kde\norg.freedesktop.impl.portal.Secret=latchkey\n"
    let stepAside: (FakeSystem) throws -> Void = {
      try $0.link("\(Self.home)/.config/systemd/user/latchkeyd.socket", to: "/dev/null")
    }
    #expect(Self.findings(try Self.system()).one("portal") == nil)
    #expect(try after("portal", stepAside).condition == .ok)
    let found = try after("portal") {
      try stepAside($0)
      try $0.put(file, line)
    }
    #expect(found.condition == .warning && found.found.contains(file))
    let other = try after("portal") {
      try stepAside($0)
      try $0.put(file, "[preferred]\norg.freedesktop.impl.portal.Secret=kwallet\n")
    }
    #expect(other.condition == .ok)
  }

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
    // The bus ignores a folder if other users can write to it.
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
}
