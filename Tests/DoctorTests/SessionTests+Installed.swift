import Foundation
import Testing

@testable import LatchkeyDoctor

/// The installed parts: the module, the programs and their services.
extension SessionTests {
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

  /// The fixes write the same services as an installation.
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

  /// Another module verifies the password of an account that is not in local files.
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

  /// The manual page has the file that the fix writes.
  @Test func documentedDirectory() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..").path
    let text = try String(contentsOfFile: "\(folder)/docs/man/pam_latchkey.8", encoding: .utf8)
    let lines = text.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
    let expected = OwnServices.lines(of: "latchkey-unlock", asking: "pam_sss.so")
    let start = try #require(lines.firstIndex(of: expected[0]))
    #expect(Array(lines[start...].prefix(expected.count)) == expected)
  }
}
