import LatchkeyDoctor
import LatchkeyGettext

/// The changes for KDE's programs if latchkey-kwallet is installed: latchkey-kwallet answers them, and KWallet does not.
extension WantedChanges {
  /// Makes the bus start our program for KWallet's names, and prevents the start of KWallet at a login.
  mutating func takeKWalletNames() {
    guard let front = KWalletFront(root: root) else { return }
    for name in KWalletFront.names {
      let path = "\(scope.busServices)/\(name).service"
      let text = front.service(for: name)
      // If the setting is made for all users, no user needs a file.
      let isSoForAll = root.content("\(SwitchScope.allUsers.busServices)/\(name).service") == .text(text)
      if isSoForAll, scope == .allUsers || !root.contains(path) { continue }
      add(path, Purpose.kwalletNames.filled(), new: text)
    }
    for starter in front.starters(home: scope.home) {
      if starter.hasSuffix(".desktop") {
        add(
          "\(scope.autostart)/\(KWalletFront.starter.desktopFile)", Purpose.kwalletLogin.filled(),
          settings: [("Desktop Entry", "Hidden", "true")],
          new: "[Desktop Entry]\nType=Application\nName=Off, by latchkey switch\nHidden=true\n")
      } else {
        addLink("\(scope.units)/\(KWalletFront.starter.unit)", to: "/dev/null", Purpose.kwalletLogin.filled())
      }
    }
    note(
      translated(
        """
        KDE's programs keep their passwords in Latchkey from now on. Those in KWallet stay there: import them \
        first.
        """))
  }

  /// The line that lets KDE's programs keep passwords, if a settings file forbids it and latchkey-kwallet is installed.
  func enablingLine(_ path: String) -> (section: String, key: String, value: String)? {
    guard KWalletFront(root: root) != nil,
      SettingsText(root.lines(path).joined(separator: "\n")).value("Enabled", in: "Wallet") == "false"
    else { return nil }
    return ("Wallet", "Enabled", "true")
  }
}
