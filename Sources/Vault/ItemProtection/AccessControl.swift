/// The requirements of an item on top of its class, before its secret is released: `SecAccessControlCreateFlags`.
///
/// Conditions are policy: the daemon checks them before it opens the secret. The passphrase is cryptography: without it the
/// secret does not open.
public struct AccessControl: Hashable, Sendable {
  /// Something that the person shows.
  public enum Condition: UInt32, CaseIterable, Sendable {
    /// Biometry or the login's password (`userPresence`).
    case userPresence = 0x1
    /// Any enrolled finger (`biometryAny`).
    case biometryAny = 0x2
    /// A finger of the set that was enrolled when the item was stored (`biometryCurrentSet`). With another set the item is
    /// locked until exactly the former set is enrolled again.
    case biometryCurrentSet = 0x8
    /// The login's password (`devicePasscode`).
    case devicePasscode = 0x10
  }

  /// Whether all conditions must be met, or only one.
  public enum Combination: Sendable {
    /// All conditions.
    case all
    /// Any condition is enough.
    case any
  }

  /// The conditions to show.
  public let conditions: Set<Condition>
  /// Whether all conditions must be met, or only one.
  public let combination: Combination
  /// Whether the secret needs a passphrase of its own (`applicationPassword`).
  public let needsPassphrase: Bool
  /// Apple's bits, in the stored form. The bits also say whether `and` was named.
  public let rawValue: UInt32

  /// An item that requires nothing.
  public static let none = AccessControl(conditions: [], combination: .all, needsPassphrase: false, rawValue: 0)

  /// Whether the item requires anything.
  public var requiresAnything: Bool { rawValue != 0 }

  /// Why flags do not go together.
  public enum Mistake: Error, Equatable, Sendable {
    /// A bit has no meaning here.
    case unknownFlag
    /// A word that names no flag.
    case unknownName(String)
    /// `or` and `and`.
    case orWithAnd
    /// `biometryAny` and `biometryCurrentSet`.
    case bothBiometries
    /// `userPresence` with another condition, `or` or `and`.
    case presenceWithOthers
    /// `or` or `and` without conditions to combine.
    case nothingToCombine
  }

  private static let or: UInt32 = 1 << 14
  private static let and: UInt32 = 1 << 15
  private static let applicationPassword: UInt32 = 1 << 31
  private static let names: [(name: String, bit: UInt32)] = [
    ("user-presence", Condition.userPresence.rawValue), ("biometry-any", Condition.biometryAny.rawValue),
    ("biometry-current-set", Condition.biometryCurrentSet.rawValue),
    ("device-passcode", Condition.devicePasscode.rawValue), ("or", or), ("and", and),
    ("application-password", applicationPassword),
  ]

  private init(conditions: Set<Condition>, combination: Combination, needsPassphrase: Bool, rawValue: UInt32) {
    self.conditions = conditions
    self.combination = combination
    self.needsPassphrase = needsPassphrase
    self.rawValue = rawValue
  }

  /// Reads Apple's bits.
  ///
  /// - Throws: ``Mistake``, by the rules of `SecAccessControlCreateWithFlags`.
  public init(rawValue: UInt32) throws(Mistake) {
    let known = AccessControl.names.reduce(0) { $0 | $1.bit }
    guard rawValue & ~known == 0 else { throw .unknownFlag }
    let conditions = Set(Condition.allCases.filter { rawValue & $0.rawValue != 0 })
    let combines = rawValue & (AccessControl.or | AccessControl.and)
    guard combines != AccessControl.or | AccessControl.and else { throw .orWithAnd }
    guard !conditions.isSuperset(of: [.biometryAny, .biometryCurrentSet]) else { throw .bothBiometries }
    guard !conditions.contains(.userPresence) || conditions.count == 1 && combines == 0 else {
      throw .presenceWithOthers
    }
    guard combines == 0 || !conditions.isEmpty else { throw .nothingToCombine }
    self.init(
      conditions: conditions, combination: combines == AccessControl.or ? .any : .all,
      needsPassphrase: rawValue & AccessControl.applicationPassword != 0, rawValue: rawValue)
  }

  /// The requirements that remain if the enrolled fingers differ from the fingers that the item remembers; nil if nothing else is
  /// enough.
  public var withoutCurrentSet: AccessControl? {
    guard combination == .any, conditions.contains(.biometryCurrentSet), conditions.count > 1 else { return nil }
    return try? AccessControl(rawValue: rawValue & ~Condition.biometryCurrentSet.rawValue)
  }

  /// Reads names with commas between them, such as `biometry-any,or,device-passcode`. An empty text means no requirements.
  public init(text: String) throws(Mistake) {
    var bits: UInt32 = 0
    for word in text.split(separator: ",", omittingEmptySubsequences: !text.contains(",")) {
      guard let flag = AccessControl.names.first(where: { $0.name == word }) else { throw .unknownName(String(word)) }
      bits |= flag.bit
    }
    try self.init(rawValue: bits)
  }

  /// The names, in the form that ``init(text:)`` reads.
  public var text: String {
    AccessControl.names.filter { rawValue & $0.bit != 0 }.map(\.name).joined(separator: ",")
  }
}
