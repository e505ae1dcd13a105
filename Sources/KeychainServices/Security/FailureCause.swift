/// The cause of a failed call on this machine, if its code is ambiguous or does not help.
package enum FailureCause: Hashable, Sendable {
  /// Nobody has unlocked the vault since the session began.
  case sealed
  /// A screen locker is up, or somebody locked the vault.
  case locked
  /// The person would have to be asked, and the program forbids it.
  case askingForbidden
  /// The person would have to be asked, and nothing can show the prompt.
  case nobodyToAsk
  /// The program did not declare the access group, or its file of groups cannot be read.
  case undeclaredGroup
  /// There is no session bus.
  case noBus
  /// Nothing on the session bus keeps secrets.
  case noVault
  /// Another program keeps the secrets of this session.
  case otherService
  /// The vault's program does not answer.
  case silentVault

  /// The event, and the remedy.
  var advice: String {
    switch self {
    case .sealed:
      "Nobody has unlocked the vault in this session yet. Log in with the password, or run 'latchkey unlock'."
    case .locked: "The session is locked. Unlock the screen, or run 'latchkey unlock'."
    case .askingForbidden:
      "The item requires the person, and the program forbids asking. Allow it with kSecUseAuthenticationUI or the context."
    case .nobodyToAsk:
      "The item requires the person, and no desktop or terminal can show a prompt. Start the program in a session."
    case .undeclaredGroup:
      "The program did not declare this access group. Add it to keychain-access-groups in NAME.entitlements beside the "
        + "executable, or to LATCHKEY_ACCESS_GROUPS."
    case .noBus: "There is no session bus. Start the program in a login session, or set DBUS_SESSION_BUS_ADDRESS."
    case .noVault:
      "No vault answers on the session bus. Run 'latchkey doctor'. A Flatpak needs --talk-name=org.freedesktop.secrets."
    case .otherService: "Another program provides org.freedesktop.secrets in this session. Run 'latchkey doctor'."
    case .silentVault: "The vault's program does not answer. Run 'systemctl --user restart latchkeyd'."
    }
  }
}
