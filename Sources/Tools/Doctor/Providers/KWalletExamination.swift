import LatchkeyGettext

/// Looks at the program that KDE's programs find for their wallets. Only if latchkey-kwallet is installed.
struct KWalletExamination {
  let root: SystemRoot
  let facts: DesktopFacts

  func findings() -> [Finding] {
    guard let front = KWalletFront(root: root) else { return [] }
    return [start(front), setting(), files()].compactMap { $0 }
  }

  private func start(_ front: KWalletFront) -> Finding {
    let id = "kwallet"
    guard front.isStarted(home: facts.home) else {
      return Finding(
        id, .warning,
        translated(
          "latchkey-kwallet is installed, but the bus starts KWallet for KDE's programs, so their passwords do not reach the vault"
        ),
        fix: Provider.fix(root))
    }
    let starters = front.starters(home: facts.home)
    guard starters.isEmpty else {
      let list = starters.joined(separator: ", ")
      return Finding(
        id, .warning,
        translated("\(list) starts KWallet at the login, which then takes the place of latchkey-kwallet"),
        fix: Provider.fix(root))
    }
    let running = RunningProcess.all(of: facts.uid, in: root).map(\.name)
    // A KWallet without a name on the bus was started by the login's PAM module, and waits for ever.
    if let name = KWalletFront.names.first(where: facts.ownedNames.contains), !running.contains(KWalletFront.process),
      running.contains(where: { $0.hasPrefix("kwalletd") })
    {
      return Finding(
        id, .warning, translated("KWallet still runs and owns \(name), so KDE's programs keep their passwords there"),
        fix: Provider.fix(root))
    }
    return .ok(id, translated("KDE's programs keep their passwords in the vault, by latchkey-kwallet"))
  }

  private func setting() -> Finding? {
    let files = ["\(facts.home)/.config/kwalletrc", "/etc/xdg/kwalletrc"]
    let found = files.lazy.compactMap { file in
      SettingsText(root.lines(file).joined(separator: "\n")).value("Enabled", in: "Wallet").map { (file, $0) }
    }.first
    guard let (file, value) = found, value == "false" else { return nil }
    return Finding(
      "kwallet.enabled", .warning,
      translated("\(file) says [Wallet] Enabled=false, so KDE's programs keep no passwords at all"),
      fix: Provider.fix(root))
  }

  /// The files are known by name only.
  private func files() -> Finding? {
    let wallets = root.names(in: "\(facts.home)/.local/share/kwalletd").filter { $0.hasSuffix(".kwl") }
    guard !wallets.isEmpty, !root.contains("\(facts.home)/.local/state/latchkey/imported.json") else { return nil }
    return .ok(
      "kwallet.files",
      translated("older wallets are in ~/.local/share/kwalletd; 'latchkey import kwallet' imports their entries"))
  }
}
