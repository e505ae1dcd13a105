import Foundation
import LatchkeyClassRules
import LatchkeyKeybag
import LatchkeyScratch
import Testing

@Suite("The rules in force")
struct ClassRulesTests {
  private let scratch: ScratchFolder
  private let warnings = Warnings()
  private let rules: ClassRules

  private final class Warnings {
    var lines: [String] = []
  }

  init() throws {
    scratch = try ScratchFolder()
    try scratch.put("shipped", Self.rule("shipped", "after-first-unlock"))
    rules = ClassRules(user: scratch.file("user"), shipped: scratch.file("shipped"), owner: geteuid()) { [warnings] in
      warnings.lines.append($0.text)
    }
  }

  private static func rule(_ name: String, _ accessibility: String, value: String = "1") -> [UInt8] {
    Array("- {name: \(name), match: {a: '\(value)'}, class: \(accessibility)}\n".utf8)
  }

  private func found(_ value: String = "1") -> String? { rules.decision(for: ["a": value])?.rule.name }

  @Test("The user's file overrides the installed one while it exists")
  func order() throws {
    #expect(found() == "shipped" && found("2") == nil)
    try scratch.put("user", Self.rule("mine", "when-unlocked"))
    #expect(found() == "mine")
    #expect(rules.decision(for: ["a": "1"])?.path == scratch.file("user"))
    #expect(rules.decision(for: ["a": "1"])?.rule.accessibility == .whenUnlocked)
    try scratch.put("user", Self.rule("other", "when-unlocked", value: "2"))
    #expect(found() == "shipped" && found("2") == "other")
    unlink(scratch.file("user"))
    #expect(found() == "shipped" && found("2") == nil)
    #expect(warnings.lines.isEmpty && rules.problems.isEmpty)
  }

  @Test("A replacement of the same size and time is noticed")
  func exchanged() throws {
    try scratch.put("user", Self.rule("mine1", "always"))
    #expect(found() == "mine1")
    var status = stat()
    stat(scratch.file("user"), &status)
    try scratch.put("new", Self.rule("mine2", "always"))
    var times = [status.st_atim, status.st_mtim]
    utimensat(AT_FDCWD, scratch.file("new"), &times, 0)
    rename(scratch.file("new"), scratch.file("user"))
    #expect(found() == "mine2")
  }

  @Test("A damaged file removes no rule, and the damage is reported once")
  func damaged() throws {
    try scratch.put("user", Self.rule("mine", "when-unlocked"))
    #expect(found() == "mine")
    try scratch.put("user", Array("- name: mine\n  klass: x\n".utf8))
    #expect(found() == "mine" && found() == "mine")
    #expect(warnings.lines.count == 1 && rules.problems.map(\.text) == warnings.lines)
    let line = try #require(warnings.lines.first)
    #expect(line.hasPrefix(scratch.file("user") + ":2: unknown key 'klass'"))
    #expect(line.contains("the rules that it had before stay in force"))
    try scratch.put("user", Self.rule("again", "when-unlocked"))
    #expect(found() == "again" && rules.problems.isEmpty && warnings.lines.count == 1)
    chmod(scratch.file("user"), 0o606)
    #expect(found() == "again" && rules.problems.count == 1 && warnings.lines.count == 2)
  }

  @Test("If the file was damaged from the beginning, the installed rules apply")
  func damagedAtFirst() throws {
    try scratch.put("user", Array("- name: [\n".utf8))
    let rules = ClassRules(user: scratch.file("user"), shipped: scratch.file("shipped"), owner: geteuid()) { _ in }
    #expect(rules.problems.count == 1)
    #expect(rules.problems.first?.contains(.rules(.noneInForce)) == true)
    #expect(rules.decision(for: ["a": "1"])?.rule.name == "shipped")
  }

  @Test("Missing installed rules are a problem, and the user's rules still count")
  func missing() throws {
    unlink(scratch.file("shipped"))
    try scratch.put("user", Self.rule("mine", "always", value: "2"))
    #expect(found("2") == "mine")
    #expect(rules.problems.map(\.text) == [scratch.file("shipped") + ": the file is missing; install Latchkey again"])
  }
}

@Suite("The installed rules")
struct ShippedRulesTests {
  private static func file() throws -> RulesFile {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("rules/rules.yaml").path
    return try RulesFile(path: path, text: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
  }

  @Test(
    "Programs that work behind the locked screen are recognised by the attributes that they store",
    arguments: [
      [
        "xdg:schema": "org.freedesktop.NetworkManager.Connection", "connection-uuid": "6d1c", "setting-name": "vpn",
        "setting-key": "password",
      ],
      ["connection-uuid": "6d1c", "setting-name": "802-11-wireless-security", "setting-key": "psk"],
      ["xdg:schema": "org.qt.keychain", "server": "Network Management", "user": "{6d1c};vpn", "type": "map"],
      ["xdg:schema": "org.gnome.Evolution.Data.Source", "e-source-uid": "1a2b", "eds-origin": "evolution-data-server"],
      ["xdg:schema": "org.gnome.OnlineAccounts", "goa-identity": "google:gen0:me"],
      ["xdg:schema": "org.gnome.Geary", "proto": "IMAP", "host": "mail.example", "login": "me"],
      ["xdg:schema": "org.qt.keychain", "server": "imap", "user": "akonadi_imap_resource_0rc", "type": "plaintext"],
      ["xdg:schema": "org.qt.keychain", "server": "mailtransports", "user": "1234", "type": "plaintext"],
      [
        "xdg:schema": "io.docker.Credentials", "server": "protonmail/bridge-v3/users/bridge-vault-key",
        "username": "bridge-vault-key",
      ],
      [
        "xdg:schema": "org.qt.keychain", "server": "Nextcloud", "user": "me:https://cloud.example/:0", "type": "base64",
      ],
      ["xdg:schema": "org.qt.keychain", "server": "ownCloud", "user": "me", "type": "plaintext"],
      ["xdg:schema": "org.freedesktop.Secret.Generic", "owner": "deja-dup", "type": "passphrase"],
      ["program": "pika-backup", "backup_id": "1"],
      ["service": "vorta-repo", "username": "ssh://backup", "application": "Python keyring library"],
    ])
  func background(attributes: [String: String]) throws {
    let decision = try #require(ClassRules.decision(for: attributes, in: [try Self.file()]))
    #expect(decision.rule.accessibility == .afterFirstUnlock)
  }

  @Test(
    "All other items stay locked with the screen",
    arguments: [
      ["xdg:schema": "chrome_libsecret_os_crypt_password_v2", "application": "chrome"],
      ["xdg:schema": "org.gnome.keyring.NetworkPassword", "server": "files.example", "protocol": "smb"],
      ["xdg:schema": "org.qt.keychain", "server": "Chrome Keys", "user": "Chrome Safe Storage"],
      ["xdg:schema": "org.freedesktop.Secret.Generic", "service": "mail", "user": "me"],
      ["application": "Python keyring library", "service": "pypi", "username": "me"],
      ["server": "imap", "user": "me"],
    ])
  func foreground(attributes: [String: String]) throws {
    #expect(ClassRules.decision(for: attributes, in: [try Self.file()]) == nil)
  }

  @Test("Each rule has attributes that no other rule fits")
  func allAreNeeded() throws {
    let file = try Self.file()
    #expect(file.rules.count == 14)
    #expect(Set(file.rules.map(\.name)).count == file.rules.count)
  }
}
