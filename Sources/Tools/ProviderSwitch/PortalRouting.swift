import LatchkeyDoctor
import LatchkeyGettext
import LatchkeyText

/// Finds the backend that gives sandboxed applications their secret. The portals.conf of each desktop names it; without such a
/// file, the default counts.
struct PortalRouting {
  let root: SystemRoot
  let scope: SwitchScope

  private static let interface = "org.freedesktop.impl.portal.Secret"
  /// The backends that lead to Latchkey: its own, and the backend that uses the name org.freedesktop.secrets.
  private static let ours = ["latchkey", "gnome-keyring"]

  /// Folders of portals.conf in their order, and their owners.
  private enum Writer { case person, administrator, desktop }
  private var folders: [(path: String, writer: Writer)] {
    let all: [(String?, Writer)] = [
      (scope.home.map { "\($0)/.config" }, .person), ("/etc/xdg", .administrator), ("/etc", .administrator),
      (scope.home.map { "\($0)/.local/share" }, .person), ("/usr/local/share", .desktop), ("/usr/share", .desktop),
    ]
    return all.compactMap { folder, writer in folder.map { ("\($0)/xdg-desktop-portal", writer) } }
  }

  /// The desktops that bring a portals.conf.
  private var desktops: [String] {
    Set(
      folders.flatMap { root.names(in: $0.path) }.compactMap { name in
        name.hasSuffix("-portals.conf") ? String(name.dropLast("-portals.conf".count)) : nil
      }
    ).sorted()
  }

  /// Adds a file for each desktop whose own file leads to another backend. The new file leads to Latchkey, and is read before the
  /// desktop's.
  func addChanges(to wanted: inout WantedChanges) {
    // Our file is missing: a release from before portals.conf uses UseIn, or Latchkey is not installed as a backend.
    guard root.contains("/usr/share/xdg-desktop-portal/portals/latchkey.portal") else { return }
    for desktop in desktops {
      guard let (path, writer) = file(of: desktop) else { continue }
      let text = settings(path)
      let named = text.value(Self.interface, in: "preferred")
      guard let other = backend(text, of: desktop) else {
        // On Plasma the desktop's own file names no backend for secrets. A file that the person or the administrator wrote stays as
        // it is.
        if writer == .desktop, !wanted.person.keepsPortal, !leavesItOpen(text) {
          lead(desktop, path, Purpose.unnamedPortal.filled(desktop), &wanted)
        }
        continue
      }
      guard !Self.ours.contains(other) else { continue }
      switch writer {
      case .person:
        guard named != nil else { continue }
        wanted.refusePortal(translated("you chose '\(other)' for the secrets of sandboxed applications in \(path)."))
      case .administrator:
        guard named != nil else { continue }
        wanted.refusePortal(
          scope == .allUsers
            ? translated("you chose '\(other)' for the secrets of sandboxed applications in \(path).")
            : translated("your administrator chose '\(other)' for the secrets of sandboxed applications in \(path)."))
      case .desktop where wanted.person.keepsPortal: continue
      case .desktop:
        guard lead(desktop, path, Purpose.portal.filled(desktop, other), &wanted) else { continue }
        wanted.note(
          translated(
            """
            A sandboxed application whose secret is in '\(other)' gets a new one here, and cannot read what it \
            sealed with the former one. Import that secret first, or add --keep-portal.
            """))
      }
    }
  }

  /// Adds a file that leads to Latchkey, in front of the desktop's own at `path`.
  ///
  /// - Returns: whether the file could be added.
  @discardableResult
  private func lead(_ desktop: String, _ path: String, _ purpose: String, _ wanted: inout WantedChanges) -> Bool {
    guard var own = textToCopy(path, wanted.files) else {
      wanted.refusePortal(
        translated(
          """
          \(path) would be copied to a place where every user can read it. So it has to be root's own file, not a \
          link, readable by all, in folders that nobody else can change. Look at it with 'ls -l \
          \(ShellCommand.quoted(path))'.
          """))
      return false
    }
    // The portal uses only the first file that it finds, so our file is the desktop's file with one more line.
    own.set(Self.interface, in: "preferred", to: "latchkey")
    wanted.add("\(scope.portals)/\(desktop)-portals.conf", purpose, new: own.text)
    return true
  }

  /// The text of a desktop's file, for a copy of it; nil if the copy could show users a text that only root can read. Root can
  /// follow any link, and others than root may write to /usr/local/share.
  private func textToCopy(_ path: String, _ files: OwnedFiles) -> SettingsText? {
    guard scope == .allUsers else { return settings(path) }
    guard let state = try? files.state(path), let text = state.text, let mode = state.mode, mode & 0o004 != 0 else {
      return nil
    }
    return SettingsText(text)
  }

  private func settings(_ path: String) -> SettingsText {
    guard case .text(let text) = root.content(path) else { return SettingsText("") }
    return SettingsText(text)
  }

  /// The file that counts for a desktop.
  private func file(of desktop: String) -> (path: String, writer: Writer)? {
    for folder in folders {
      for name in ["\(desktop)-portals.conf", "portals.conf"] where root.contains("\(folder.path)/\(name)") {
        return ("\(folder.path)/\(name)", folder.writer)
      }
    }
    return nil
  }

  private static let portals = "/usr/share/xdg-desktop-portal/portals"

  /// The backend in use: the first installed one that the file names for secrets; else the first backend with secrets that the file
  /// names for everything; else a backend that claims the desktop; nil if there is no backend.
  private func backend(_ text: SettingsText, of desktop: String) -> String? {
    if let named = names(text.value(Self.interface, in: "preferred")) {
      return named.first { root.contains("\(Self.portals)/\($0).portal") }
    }
    if let first = names(text.value("default", in: "preferred"))?.first(where: hasSecrets) { return first }
    return root.names(in: Self.portals).sorted().lazy.filter { $0.hasSuffix(".portal") }
      .map { String($0.dropLast(".portal".count)) }.first { hasSecrets($0) && isFor(desktop, $0) }
  }

  private func names(_ list: String?) -> [String]? {
    list?.split(separator: ";").map { String($0.filter { $0 != " " }) }
  }

  private func value(_ key: String, of backend: String) -> [Substring] {
    (settings("\(Self.portals)/\(backend).portal").value(key, in: "portal") ?? "").split(separator: ";")
  }

  private func hasSecrets(_ backend: String) -> Bool {
    value("Interfaces", of: backend).contains(Substring(Self.interface))
  }

  private func isFor(_ desktop: String, _ backend: String) -> Bool {
    value("UseIn", of: backend).contains { $0.lowercased() == desktop.lowercased() }
  }

  /// Whether a file names no backend for secrets, or accepts any.
  private func leavesItOpen(_ text: SettingsText) -> Bool {
    names(text.value(Self.interface, in: "preferred"))?.contains("none") == true
      || names(text.value("default", in: "preferred"))?.contains("*") == true
  }
}
