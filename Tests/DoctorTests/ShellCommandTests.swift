import Foundation
import LatchkeyText
import Testing

@testable import LatchkeyDoctor

@Suite("Commands that doctor prints")
struct ShellCommandTests {
  private static let home = "/home/a'b; c"

  @Test("A value in a command is one word to the shell")
  func words() throws {
    let odd = ["a b", "a;b", "$(x)", "it's", "*", "", "~", "a\nb", "grün", "<(x)", "#", "`x`", "a=b", "{a,b}", "\\"]
    for word in odd + ["/etc/pam.d/login", "-x"] {
      let command: ShellCommand = "printf '%s' \(word)"
      let shell = Process()
      let output = Pipe()
      shell.executableURL = URL(fileURLWithPath: "/bin/sh")
      shell.arguments = ["-c", command.line]
      shell.standardOutput = output
      try shell.run()
      #expect(String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) == word)
      shell.waitUntilExit()
    }
    let several: ShellCommand = "\(words: ["a", "b c"]) && \(part: "d | e") \(3)"
    #expect(several.line == "a 'b c' && d | e 3")
  }

  /// A home with a vault. The home's name needs quotes in a shell.
  private func system() throws -> (FakeSystem, DesktopFacts) {
    let system = try FakeSystem([
      "\(Self.home)/.local/share/latchkey/keybag": "x", "\(Self.home)/.local/share/latchkey/vault.db": "x",
    ])
    return (system, DesktopFacts(uid: getuid(), home: Self.home, runtime: "/run/user/1000"))
  }

  @Test("The user sets aside a link in place of a file, and root does nothing")
  func links() throws {
    let (system, facts) = try system()
    let path = "\(Self.home)/.local/share/latchkey/keybag"
    try system.put("/etc/shadow", "secret", mode: 0o600)
    try system.link(path, to: "/etc/shadow")
    // An existing file with the new name stays.
    try system.put("\(path).foreign", "")
    let found = VaultFilesExamination(root: system.root, facts: facts).finding()
    let command = try #require(found.command)
    #expect(found.condition == .broken && !command.contains("sudo") && found.advice != nil)
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/bin/sh")
    // Runs only the move, in this system's folder.
    let move = command.prefix(upTo: try #require(command.range(of: " && ")).lowerBound)
    shell.arguments = ["-c", "system=$1; " + move.replacing("'/home/", with: "\"$system\"'/home/"), "sh", system.path]
    try shell.run()
    shell.waitUntilExit()
    #expect(shell.terminationStatus == 0)
    #expect(system.root.link("\(path).foreign.2") == "/etc/shadow" && system.root.link(path) == nil)
    #expect(system.root.content("/etc/shadow") == .text("secret"))
  }

  @Test("No finding about the vault makes root touch a path below the home")
  func rootless() throws {
    for owner in [getuid(), getuid() + 1] {
      for place in ["", "/.local", "/.local/share/latchkey", "/.local/share/latchkey/keybag"] {
        let (system, facts) = try system()
        var other = facts
        if owner != getuid() { other = DesktopFacts(uid: owner, home: Self.home, runtime: "/run/user/1000") }
        if !place.isEmpty {
          try system.remove(Self.home + place)
          try system.link(Self.home + place, to: "/etc")
          try system.put("/etc/passwd", "")
        }
        let examined = VaultExamination(root: system.root, facts: other).findings()
        for one in examined { #expect(one.command?.contains("sudo") != true, "\(one)") }
        if owner != getuid() { #expect(examined.one("home.folders")?.condition == .broken) }
      }
    }
  }

  @Test("Paths in root's commands are quoted, and outside of homes")
  func masks() throws {
    for (folder, start) in [("\(Self.home)/.config", "rm '/home/"), ("/etc", "sudo rm /etc/")] {
      let system = try SessionTests.system()
      try system.link("\(folder)/systemd/user/latchkeyd.socket", to: "/dev/null")
      let facts = DesktopFacts(uid: getuid(), home: Self.home, runtime: "/run/user/1000")
      let found = try #require(UnitExamination(root: system.root, facts: facts).findings().one("unit.socket"))
      #expect(try #require(found.command).hasPrefix(start), "\(found)")
    }
    let system = try SessionTests.system()
    let runtime = "/run/a b"
    try system.link("\(runtime)/dbus-1/services/org.freedesktop.secrets.service", to: SessionTests.ours)
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o777], ofItemAtPath: "\(system.path)\(runtime)/dbus-1")
    let facts = DesktopFacts(uid: getuid(), home: Self.home, runtime: runtime)
    let found = try #require(NameExamination(root: system.root, facts: facts).findings().one("activation"))
    #expect(
      try #require(found.command).hasPrefix("chmod go-w '/run/a b/dbus-1' '/run/a b/dbus-1/services' && busctl"),
      "\(found)")
  }
}
