import Foundation
import LatchkeyDoctor
import LatchkeyPosix
import LatchkeyScratch

@testable import LatchkeyProviderSwitch

/// A system with one person, in a folder of the test.
final class FakeHome {
  static let home = "/home/anna"
  private let scratch: ScratchFolder
  var person = ProviderSwitch.Person(uid: getuid(), scope: .person(home: FakeHome.home))

  /// Only Latchkey is installed.
  init() throws {
    // The folder is in memory, because an interruption at every step means thousands of synchronised writes.
    scratch = try ScratchFolder()
    for unit in ["latchkeyd.socket", "latchkeyd.service"] { try put("/usr/lib/systemd/user/\(unit)", "[Unit]\n") }
    try FileManager.default.createDirectory(atPath: path + FakeHome.home, withIntermediateDirectories: true)
  }

  var path: String { scratch.path }
  var providers: ProviderSwitch { ProviderSwitch(root: SystemRoot(path), person: person) }

  func put(_ name: String, _ text: String, mode: Int = 0o644) throws {
    try makeFolder(of: name)
    try? FileManager.default.removeItem(atPath: path + name)
    try Data(text.utf8).write(to: URL(fileURLWithPath: path + name))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path + name)
  }

  func own(_ name: String, _ text: String, mode: Int = 0o644) throws {
    try put("\(FakeHome.home)/\(name)", text, mode: mode)
  }

  func link(_ name: String, to target: String) throws {
    try makeFolder(of: name)
    try FileManager.default.createSymbolicLink(atPath: path + name, withDestinationPath: target)
  }

  private func makeFolder(of name: String) throws {
    try FileManager.default.createDirectory(
      atPath: ((path + name) as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
  }

  func text(_ name: String) -> String? { text(ofAll: "\(FakeHome.home)/\(name)") }

  func text(ofAll name: String) -> String? {
    FileManager.default.contents(atPath: path + name).map { String(decoding: $0, as: UTF8.self) }
  }

  func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: "\(path)\(FakeHome.home)/\(name)") }

  /// Everything below the home or another folder: the kind, mode and content of each path.
  func everything(below top: String = FakeHome.home) throws -> [String: String] {
    var found: [String: String] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: path + top) {
      let file = "\(path)\(top)/\(name)"
      let facts = try FileManager.default.attributesOfItem(atPath: file)
      let mode = String((facts[.posixPermissions] as? Int) ?? 0, radix: 8)
      switch facts[.type] as? FileAttributeType {
      case .typeSymbolicLink?: found[name] = "link \(try FileManager.default.destinationOfSymbolicLink(atPath: file))"
      case .typeRegular?:
        found[name] = "\(mode) \(FileManager.default.contents(atPath: file)?.base64EncodedString() ?? "")"
      default: found[name] = "folder"
      }
    }
    return found
  }

  /// The files without the record, which also names the folders that each run created.
  func files() throws -> [String: String] { try everything().filter { !$0.key.hasSuffix("switch.json") } }

  // MARK: Providers, as Debian installs them

  func installGNOMEKeyring() throws {
    try put("/usr/bin/gnome-keyring-daemon", "")
    try put("/usr/lib/systemd/user/gnome-keyring-daemon.socket", "[Socket]\n")
    try put(
      "/usr/lib/systemd/user/gnome-keyring-daemon.service",
      "[Service]\nExecStart=/usr/bin/gnome-keyring-daemon --foreground --components=\"pkcs11,secrets\" --control-directory=%t/keyring\n"
    )
    for part in ["pkcs11", "secrets", "ssh"] {
      try put(
        "/etc/xdg/autostart/gnome-keyring-\(part).desktop",
        "[Desktop Entry]\nType=Application\nExec=/usr/bin/gnome-keyring-daemon --start --components=\(part)\n")
    }
    for name in ["org.freedesktop.secrets", "org.gnome.keyring"] {
      try put("/usr/share/dbus-1/services/\(name).service", "[D-BUS Service]\n")
    }
  }

  func installAll() throws {
    try installGNOMEKeyring()
    for program in ["kwalletd6", "ksecretd", "keepassxc", "oo7-daemon"] { try put("/usr/bin/\(program)", "") }
    try put("/usr/lib/systemd/user/oo7-daemon.service", "[Service]\nExecStart=/usr/libexec/oo7-daemon\n")
    // On Fedora, the bus starts oo7.
    try link("/usr/lib/systemd/user/dbus-org.freedesktop.secrets.service", to: "oo7-daemon.service")
    try put("/usr/bin/pass_secret_service", "")
    try put(
      "/usr/lib/systemd/user/pass-secret-service.service", "[Service]\nExecStart=/usr/bin/pass_secret_service\n")
    try own(".config/kwalletrc", "[Wallet]\nFirst Use=false\n", mode: 0o600)
    try own(".config/keepassxc/keepassxc.ini", "[General]\nX=1\n\n[FdoSecrets]\nEnabled=true\n", mode: 0o640)
    try put("/usr/share/xdg-desktop-portal/portals/latchkey.portal", "[portal]\n")
    try put("/usr/share/xdg-desktop-portal/portals/oo7-portal.portal", "[portal]\n")
    try put(
      "/usr/share/xdg-desktop-portal/gnome-portals.conf",
      "[preferred]\ndefault=gnome;gtk;\norg.freedesktop.impl.portal.Secret=oo7-portal;gnome-keyring;\n")
  }
}

extension SwitchPlan {
  /// Whether the plan changes no file.
  var changesNothing: Bool { changes.isEmpty && puttingBack.isEmpty }
}
