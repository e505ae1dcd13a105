package import LatchkeyItemProtection

/// The cause of a failed call on this machine, for codes that have several causes or say too little.
package enum FailureCause: Hashable, Sendable {
  /// The dictionary names no class.
  case missingClass
  /// The key does not exist.
  case unknownKey(String)
  /// The value of the key has the wrong type, or the key does not accept it.
  case invalidValue(key: String)
  /// The key is not an attribute of the class.
  case otherClassKey(String)
  /// The key is not an attribute, so an update cannot change it.
  case unchangeableKey(String)
  /// The keys contradict each other, or the call does not accept them together.
  case contradiction([String])
  /// The value of `kSecClass` is invalid.
  case unknownClass
  /// The persistent reference names an item of another class.
  case referenceOfOtherClass
  /// Nobody has unlocked the vault since the session began.
  case sealed
  /// The vault does not exist yet, so not even an item that needs no login can be stored.
  case noVaultYet
  /// The program runs as root or as a system account, for which no vault is created.
  case systemAccount
  /// A screen locker is up, or somebody locked the vault.
  case locked
  /// The vault ended a prompt before the person had answered, because the vault was locked or restarted.
  case withdrawnPrompt
  /// The person must be asked, but the program forbids it.
  case askingForbidden
  /// The person must be asked, but no program can show the prompt.
  case nobodyToAsk
  /// The person was asked, and did not answer in time.
  case unanswered
  /// The person must show a finger, but there is no reader, no enrolled finger, or no program that can show the prompt.
  case noFinger
  /// The program did not declare the access group.
  case undeclaredGroup
  /// The program has no access group: the program has neither a name nor a file of entitlements.
  case noGroup
  /// The program has no access group: its file of entitlements exists, but cannot be read.
  case unreadableGroups(path: String, reason: String)
  /// The file of entitlements is not a property list, or names no group.
  case malformedGroups(path: String)
  /// An item of another program would move to another access group, or become synchronizable.
  case foreignItem
  /// The answers to the prompt were wrong. The value has the item's requirements; nil for a prompt that unlocks the vault or a
  /// collection.
  case wrongAnswer(AccessControl?)
  /// Prompts pause for a while after too many wrong passphrases.
  case pausedPassphrase
  /// The enrolled fingers are not those that the item requires, or the enrolled fingers are unknown.
  case otherFingers
  /// No finger is enrolled, so a new item cannot be bound to the enrolled fingers.
  case noEnrolledFinger
  /// The login has no password, which the item's class requires.
  case noPasscode
  /// The program invalidated its context.
  case invalidatedContext
  /// There is no session bus.
  case noBus
  /// No program on the session bus provides secrets.
  case noVault
  /// Another program provides the secrets of this session.
  case otherService
  /// The daemon does not answer.
  case silentVault

  /// The cause in a sentence, and what to do.
  var advice: String {
    switch self {
    case .missingClass: "kSecClass is missing."
    case .unknownKey(let key): "The key \(key) does not exist."
    case .invalidValue(let key):
      "The value of \(KeyNames.all[key] ?? key) is invalid: it is nil, it has the wrong type, or the key does not take it."
    case .otherClassKey(let key): "Items of this class do not have \(KeyNames.all[key] ?? "the attribute \(key)")."
    case .unchangeableKey(let key): "An update cannot change \(KeyNames.all[key] ?? key)."
    case .contradiction(let keys):
      "These keys contradict each other, or the call does not take them: "
        + keys.map { KeyNames.all[$0] ?? $0 }.joined(separator: ", ") + "."
    case .unknownClass:
      "The value of kSecClass is invalid: it must be kSecClassGenericPassword or kSecClassInternetPassword."
    case .referenceOfOtherClass: "kSecValuePersistentRef is of an item of another class than kSecClass says."
    case .sealed:
      "Nobody has unlocked the vault in this session yet. Log in with the password, or run 'latchkey unlock'."
    case .noVaultYet:
      "There is no vault yet. Log in with the password, or run 'latchkey unlock': either creates it."
    case .systemAccount:
      "Root and system accounts get no vault. Run the program in a person's session, or give a service its secrets with "
        + "systemd's LoadCredentialEncrypted=."
    case .locked: "The session is locked. Unlock the screen, or run 'latchkey unlock'."
    case .withdrawnPrompt:
      "The vault was locked or restarted while a prompt was open. Run 'latchkey unlock' if it is still locked, then try again."
    case .askingForbidden:
      "The item requires the person, and the program forbids asking. Allow it with kSecUseAuthenticationUI or the context."
    case .nobodyToAsk:
      "The item requires the person, and no desktop or terminal can show a prompt. Start the program in a session."
    case .unanswered:
      "Nobody answered the prompt in time. Call again when the person is there."
    case .noFinger:
      "The item requires a finger, and there is no fingerprint reader, no enrolled finger, or no desktop or terminal "
        + "that can show a prompt. Enroll a finger with 'fprintd-enroll'."
    case .undeclaredGroup:
      "The program did not declare this access group. Add it to keychain-access-groups in NAME.entitlements beside the "
        + "executable, or to LATCHKEY_ACCESS_GROUPS."
    case .noGroup:
      "The program has no access group, because it has no name. Set LATCHKEY_ACCESS_GROUPS, or put NAME.entitlements beside "
        + "the executable."
    case .malformedGroups(let path):
      "The program has no access group. Correct the file \(path): it is not a property list, or names no group."
    case .unreadableGroups(let path, let reason):
      "The program has no access group. The file \(path) cannot be read: \(reason). Let the program read it, or remove it."
    case .foreignItem:
      "Another program stored the item, so it cannot move to an access group or become synchronizable. Store a new "
        + "one, and delete this one."
    case .wrongAnswer(let control):
      "\(control?.answers ?? "The password") was not accepted. Call again to try once more."
    case .pausedPassphrase:
      "Too many passphrases were wrong, so not even the right one is accepted for half a minute or longer. Call again later."
    case .otherFingers:
      "The item requires the fingers that were enrolled when it was stored, and they changed. Run 'latchkey status'."
    case .noEnrolledFinger: "No finger is enrolled, so the item cannot be bound to one. Run 'fprintd-enroll'."
    case .noPasscode: "The login has no password, which this class requires. Set one with 'passwd'."
    case .invalidatedContext: "The program invalidated its LAContext. Make a new one."
    case .noBus: "There is no session bus. Start the program in a login session, or set DBUS_SESSION_BUS_ADDRESS."
    case .noVault:
      "No vault answers on the session bus. Run 'latchkey doctor'. If that command is missing, Latchkey is not installed. "
        + "A Flatpak needs --talk-name=org.freedesktop.secrets."
    case .otherService:
      "Another program provides org.freedesktop.secrets in this session. Run 'latchkey switch --to latchkey'. If that command is "
        + "missing, Latchkey is not installed."
    case .silentVault: "The vault's program does not answer. Run 'systemctl --user restart latchkeyd'."
    }
  }
}

extension AccessControl {
  /// The kinds of answers to a prompt for these requirements, as the start of a sentence. The vault does not say which of several
  /// answers was wrong.
  fileprivate var answers: String {
    let takesFinger = !conditions.isDisjoint(with: [.userPresence, .biometryAny, .biometryCurrentSet])
    let takesPassword = !conditions.isDisjoint(with: [.userPresence, .devicePasscode])
    var kinds: [String] = []
    if takesPassword { kinds.append("login password") }
    if takesFinger { kinds.append("finger") }
    if needsPassphrase { kinds.append("passphrase of the item") }
    guard let last = kinds.popLast() else { return "The answer" }
    return "The " + (kinds.isEmpty ? last : "\(kinds.joined(separator: ", ")) or \(last)")
  }
}
