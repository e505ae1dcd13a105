import LatchkeyGettext

/// The purposes of changes. The record has the English text, because a later run reads it, in any language.
enum Purpose {
  static let nameOff = Template("the bus no longer starts \(.text) for the name \(.value)")
  static let autostartOff = Template("the desktop no longer starts \(.text) for secrets")
  static let autostartReduced = Template("the desktop starts \(.text) without its component for secrets")
  static let unitReduced = Template("\(.text) runs on, without its component for secrets")
  static let unitOff = Template("systemd no longer starts \(.text)")
  static let settingOff = Template("\(.text) no longer offers secrets to other programs")
  static let portal = Template(
    "on \(.value), sandboxed applications get their secret from Latchkey, not from \(.value)")
  static let unnamedPortal = Template("on \(.value), sandboxed applications get their secret from Latchkey")
  static let agentOff = Template("the session no longer starts the ssh agent of \(.text)")
  static let kwalletNames = Template("the bus starts latchkey-kwallet for KDE's programs")
  static let kwalletLogin = Template("the login no longer starts KWallet")
  static let kwalletEnabled = Template("KDE's programs may keep passwords")
  static let latchkeyOff = Template("systemd no longer starts Latchkey")
  static let formerProvider = Template("the bus starts the former provider for the name")
  static let fingerLine = Template("a finger at \(.value) unlocks the vault too")
  private static let someService = Template("the service \(.value)")

  private static let all = Templates([
    nameOff, autostartOff, autostartReduced, unitReduced, unitOff, settingOff, portal, unnamedPortal, agentOff,
    latchkeyOff,
    formerProvider, kwalletNames, kwalletLogin, kwalletEnabled, fingerLine,
    someService,
  ])

  /// A purpose of the record in the person's language.
  static func words(of purpose: String) -> String { all.translation(of: purpose) }
}
