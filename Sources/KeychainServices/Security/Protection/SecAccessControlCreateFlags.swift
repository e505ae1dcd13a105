/// The requirements of an item for each read, on top of its accessibility. The bits are Apple's.
public struct SecAccessControlCreateFlags: OptionSet, Hashable, Sendable {
  /// The bits.
  public let rawValue: CFOptionFlags

  /// Takes bits as they are.
  public init(rawValue: CFOptionFlags) { self.rawValue = rawValue }

  /// Biometry or the login's password. This flag can be combined only with ``applicationPassword`` and ``privateKeyUsage``.
  public static let userPresence = SecAccessControlCreateFlags(rawValue: 1 << 0)
  /// Any enrolled finger.
  public static let biometryAny = SecAccessControlCreateFlags(rawValue: 1 << 1)
  /// Older name of ``biometryAny``.
  public static let touchIDAny = biometryAny
  /// A finger of the set that was enrolled when the item was stored. If another set is enrolled, the item cannot be read
  /// (`errSecAuthFailed`) until exactly the former set is enrolled again. On Apple's systems the item is then lost
  /// (`errSecItemNotFound`).
  public static let biometryCurrentSet = SecAccessControlCreateFlags(rawValue: 1 << 3)
  /// Older name of ``biometryCurrentSet``.
  public static let touchIDCurrentSet = biometryCurrentSet
  /// The login's password.
  public static let devicePasscode = SecAccessControlCreateFlags(rawValue: 1 << 4)
  /// A watch. Linux has none, so an item can have this flag only with ``or`` and another condition.
  public static let watch = SecAccessControlCreateFlags(rawValue: 1 << 5)
  /// Newer name of ``watch``.
  public static let companion = watch
  /// One of the conditions is enough.
  public static let or = SecAccessControlCreateFlags(rawValue: 1 << 14)
  /// All conditions must be met. This is also the rule without this flag.
  public static let and = SecAccessControlCreateFlags(rawValue: 1 << 15)
  /// For keys: only operations with the private key prompt. Passwords cannot use this flag.
  public static let privateKeyUsage = SecAccessControlCreateFlags(rawValue: 1 << 30)
  /// The secret is also encrypted with the item's own passphrase. The prompt asks for the passphrase after the other requirements.
  /// With ``devicePasscode``, it first asks for the login password, and then for the passphrase.
  public static let applicationPassword = SecAccessControlCreateFlags(rawValue: 1 << 31)

  static let all: SecAccessControlCreateFlags = [
    .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .watch, .or, .and, .privateKeyUsage,
    .applicationPassword,
  ]

  /// The rule of Apple's that the flags break; nil if they break none.
  var brokenRule: String? {
    guard isSubset(of: .all) else { return "there is an access control flag that has no meaning" }
    guard !isSuperset(of: [.or, .and]) else { return "'or' and 'and' cannot be combined" }
    guard !isSuperset(of: [.biometryAny, .biometryCurrentSet]) else {
      return "biometryAny and biometryCurrentSet do not go together"
    }
    guard !contains(.userPresence) || isSubset(of: [.userPresence, .applicationPassword, .privateKeyUsage]) else {
      return "userPresence goes with applicationPassword and privateKeyUsage alone"
    }
    return nil
  }
}
