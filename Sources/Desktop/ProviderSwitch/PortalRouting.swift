import LatchkeyDoctor

/// Which backend gives sandboxed applications their secret: what portals.conf of each desktop says, and what there is without.
struct PortalRouting {
  let root: SystemRoot
  let scope: SwitchScope

  private static let interface = "org.freedesktop.impl.portal.Secret"
  /// Those that lead to Latchkey: its own, and that of the name org.freedesktop.secrets.
  private static let ours = ["latchkey", "gnome-keyring"]

  /// Folders of portals.conf, the first one first, and whose they are.
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

  /// For each desktop that leads elsewhere, a file that leads to Latchkey, in front of the desktop's own.
  func addChanges(to wanted: inout WantedChanges) {
    // Without our file, a release before portals.conf goes by UseIn, or Latchkey is no backend here.
    guard root.contains("/usr/share/xdg-desktop-portal/portals/latchkey.portal") else { return }
    for desktop in desktops {
      guard let (path, writer) = file(of: desktop) else { continue }
      let text = settings(path)
      let named = text.value(Self.interface, in: "preferred")
      guard let other = backend(named, of: desktop), !Self.ours.contains(other) else { continue }
      switch writer {
      case .person:
        guard named != nil else { continue }
        wanted.refusePortal("you chose '\(other)' for the secrets of sandboxed applications in \(path).")
      case .administrator:
        guard named != nil else { continue }
        let who = scope == .allUsers ? "you" : "your administrator"
        wanted.refusePortal("\(who) chose '\(other)' for the secrets of sandboxed applications in \(path).")
      case .desktop where wanted.person.keepsPortal: continue
      case .desktop:
        guard var own = textToCopy(path, wanted.files) else {
          wanted.refusePortal(
            "\(path) would be copied to where every user can read it. For that, it has to be root's own file, no link,"
              + " readable by all, in folders that nobody else can change. Look at it with 'ls -l \(path)'.")
          continue
        }
        // The first file that is found counts as a whole, so ours is the desktop's with one line more.
        own.set(Self.interface, in: "preferred", to: "latchkey")
        wanted.add(
          "\(scope.portals)/\(desktop)-portals.conf",
          "on \(desktop), sandboxed applications get their secret from Latchkey, not from \(other)", new: own.text)
        wanted.note(
          "A sandboxed application whose secret is in '\(other)' gets a new one here, and cannot read what it sealed with the"
            + " former one. Import that secret first, or add --keep-portal.")
      }
    }
  }

  /// What a desktop's file says, for a copy of it; nil where the copy could show users what only root can read. Root follows any
  /// link, and not only root may write to /usr/local/share.
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

  /// The backend that is asked: the first of those named that is installed, else one that says it is for the desktop.
  private func backend(_ named: String?, of desktop: String) -> String? {
    let portals = "/usr/share/xdg-desktop-portal/portals"
    let list = named?.split(separator: ";").map { String($0.filter { $0 != " " }) } ?? []
    if let first = list.first(where: { root.contains("\(portals)/\($0).portal") }) { return first }
    guard named == nil else { return nil }
    for name in root.names(in: portals) where name.hasSuffix(".portal") {
      let text = settings("\(portals)/\(name)")
      let uses = (text.value("UseIn", in: "portal") ?? "").lowercased().split(separator: ";")
      let interfaces = (text.value("Interfaces", in: "portal") ?? "").split(separator: ";")
      if uses.contains(Substring(desktop)), interfaces.contains(Substring(Self.interface)) {
        return String(name.dropLast(".portal".count))
      }
    }
    return nil
  }
}
