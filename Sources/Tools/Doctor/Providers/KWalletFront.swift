import LatchkeyText

/// latchkey-kwallet, which answers KDE's programs in KWallet's place: the files that start it, and the ones that start KWallet
/// itself.
package struct KWalletFront {
  /// The names by which KDE's programs find their wallets.
  package static let names = ["org.kde.kwalletd5", "org.kde.kwalletd6"]
  /// The process's name, cut to the letters that the kernel keeps.
  package static let process = "latchkey-kwalle"
  /// The files by which a session lets the KWallet run that pam_kwallet started at the login.
  package static let starter = (desktopFile: "pam_kwallet_init.desktop", unit: "plasma-kwallet-pam.service")

  private let root: SystemRoot
  /// The program's file.
  package let program: String

  /// Finds the program; nil if latchkey-kwallet is not installed, if there is no KWallet to replace, or if KDE's own proxy answers:
  /// from KDE Frameworks 6.14 on, that proxy keeps everything in a Secret Service.
  package init?(root: SystemRoot) {
    let files = ["/usr/libexec", "/usr/local/libexec"].map { "\($0)/latchkey-kwallet" }
    guard let program = files.first(where: { root.contains($0) }), !Self.hasProxy(root),
      Self.names.contains(where: { root.contains(Self.formerFile(of: $0)) })
    else { return nil }
    (self.root, self.program) = (root, program)
  }

  private static func hasProxy(_ root: SystemRoot) -> Bool {
    ["/usr/bin", "/usr/libexec", "/usr/local/bin"].contains { root.contains("\($0)/ksecretd") }
  }

  /// The file by which the bus starts the program for a name. If its package was removed since, the bus starts KWallet again.
  package func service(for name: String) -> String {
    var command = "exec \(program)"
    if let former = former(of: name) { command = "test -x \(program) && exec \(program); exec \(former)" }
    return "[D-BUS Service]\nName=\(name)\nExec=/bin/sh -c \"\(command)\"\n"
  }

  /// The program that the bus starts according to KDE's own file, if the line is a path alone.
  private func former(of name: String) -> String? {
    let line = root.lines(Self.formerFile(of: name)).first { $0.hasPrefix("Exec=/") }
    guard let path = line?.dropFirst("Exec=".count),
      path.utf8.allSatisfy({ Self.plain.contains($0) })
    else { return nil }
    return String(path)
  }

  /// KDE's file that tells the bus how to start KWallet.
  private static func formerFile(of name: String) -> String { "/usr/share/dbus-1/services/\(name).service" }

  private static let plain = Set("/-_.+0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)

  /// The files of the bus for a name. The first one counts.
  package static func files(for name: String, home: String?) -> [String] {
    ((home.map { ["\($0)/.local/share"] } ?? []) + ["/usr/local/share"]).map { "\($0)/dbus-1/services/\(name).service" }
  }

  /// Whether the bus starts the program for both names.
  package func isStarted(home: String?) -> Bool {
    Self.names.allSatisfy { name in
      Self.files(for: name, home: home).first { root.contains($0) }.map { file in
        root.lines(file).contains { $0.hasPrefix("Exec=") && $0.contains(text: "latchkey-kwallet") }
      } ?? false
    }
  }

  /// The files by which a session starts the KWallet that pam_kwallet prepared.
  package func starters(home: String?) -> [String] {
    let folders = (home.map { ["\($0)/.config/autostart"] } ?? []) + ["/etc/xdg/autostart"]
    var found = folders.map { "\($0)/\(Self.starter.desktopFile)" }.filter { root.contains($0) }.prefix(1).filter {
      file in
      !root.lines(file).contains { $0.filter { $0 != " " } == "Hidden=true" }
    }
    let units = UnitFiles(root: root, home: home)
    if units.mask(Self.starter.unit) == nil, let unit = units.path(Self.starter.unit) { found.append(unit) }
    return Array(found)
  }
}
