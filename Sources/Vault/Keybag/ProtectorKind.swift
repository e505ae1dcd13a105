import LatchkeySodium

extension Protector {
  /// The kinds of protectors. All their differences are here, and in FORMAT.md, "Kinds of protectors".
  public enum Kind: UInt8, CaseIterable, Sendable {
    /// The login password.
    case password = 1
    /// A recovery code: the root key is sealed to a public key, so that a new root key can be sealed without the code.
    case recoveryCode = 2
    /// A login in which nobody gave a password. It opens only tier key C, and no root key.
    case session = 3
    /// Only the device key, for an account without a password.
    case device = 4
    /// A finger at the locked screen: it has no key, but allows covering the tier keys behind the lock.
    case finger = 5
    /// A FIDO2 security key with its PIN: the root key is sealed to a public key, as for a recovery code.
    case securityKey = 6

    /// The keys that a protector of some kind unlocks.
    public enum Reach: String, CaseIterable, Sendable {
      /// All tier keys, by the root key.
      case everything
      /// Tier key C of the newest key epoch, and nothing else.
      case afterFirstUnlock = "after-first-unlock"
      /// All tier keys again, in a session that a password has unlocked before.
      case everythingAgain = "everything-again"
    }

    /// The holder of a protector's secret.
    public enum Holder: CaseIterable, Sendable {
      /// A person, who may have chosen a secret that can be guessed. So Argon2id makes each guess slow.
      case person
      /// A sheet of paper: 128 random bits.
      case paper
      /// The device key, which unwraps 32 random bytes.
      case deviceKey
      /// A security key, which computes 32 random bytes from a salt, after a person has given its PIN and touched it.
      case securityKey
      /// The device key service, which holds a key of one session.
      case deviceService
    }

    /// An event that may end a protector.
    public enum Ending: CaseIterable, Sendable {
      /// Another password took the place of the login's.
      case otherPassword
      /// The login got its first password.
      case firstPassword
      /// The login has no password any more.
      case removedPassword
      /// `latchkey protector remove`
      case command
    }
  }
}

extension Protector.Kind {
  /// The name on a command line and in JSON.
  public var name: String {
    switch self {
    case .password: "password"
    case .recoveryCode: "recovery-code"
    case .session: "session"
    case .device: "device"
    case .securityKey: "security-key"
    case .finger: "finger"
    }
  }

  /// The keys that the protector unlocks.
  public var reach: Reach {
    switch self {
    case .password, .recoveryCode, .device, .securityKey: .everything
    case .session: .afterFirstUnlock
    case .finger: .everythingAgain
    }
  }

  /// The holder of the protector's secret.
  public var holder: Holder {
    switch self {
    case .password: .person
    case .recoveryCode: .paper
    case .session, .device: .deviceKey
    case .securityKey: .securityKey
    case .finger: .deviceService
    }
  }

  /// Whether the event ends every protector of this kind.
  ///
  /// With the first password, only the recovery code that opened the keybag stays. Before that, only the device key protected the
  /// vault, so a stranger could have made the other codes.
  public func ends(with ending: Ending) -> Bool {
    switch (self, ending) {
    case (.password, .otherPassword), (.password, .firstPassword), (.password, .removedPassword): true
    case (.recoveryCode, .firstPassword), (.recoveryCode, .command): true
    case (.session, .firstPassword), (.session, .removedPassword), (.session, .command): true
    case (.finger, .firstPassword), (.finger, .removedPassword), (.finger, .command): true
    case (.securityKey, .firstPassword), (.securityKey, .removedPassword), (.securityKey, .command): true
    // A keybag has at most one protector of this kind, so a new one replaces it.
    case (.device, .otherPassword), (.device, .firstPassword), (.device, .removedPassword): true
    case (.password, .command), (.recoveryCode, .otherPassword), (.recoveryCode, .removedPassword),
      (.session, .otherPassword), (.finger, .otherPassword), (.device, .command), (.securityKey, .otherPassword):
      false
    }
  }

  /// The sizes of ``Protector/sealed``, in bytes.
  var sealedSizes: ClosedRange<Int> {
    switch self {
    case .password: Protector.passwordSealedSize...Protector.passwordSealedSize
    case .recoveryCode: Protector.recoverySealedSize...Protector.recoverySealedSize
    case .session: Protector.sessionSealedSize...Protector.sessionSealedSize
    case .device: Protector.deviceSealedSize...Protector.deviceSealedSize
    case .finger: Protector.fingerSealedSize...Protector.fingerSealedSize
    case .securityKey: Protector.securityKeySealedSizes
    }
  }
}
