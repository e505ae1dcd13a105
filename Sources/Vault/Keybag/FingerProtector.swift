import LatchkeyPosix
import LatchkeySodium

/// The protector of a finger: a setting without any key. The root key's tag covers it, so only a program that has opened the keybag
/// can add or remove it. docs/developer/finger.md describes its effects.
extension Protector {
  static let fingerSealedSize = 1

  /// A new protector of a finger.
  ///
  /// - Parameter mayBeInMemory: whether the covering key may be in memory if there is no TPM.
  static func makeFinger(mayBeInMemory: Bool) -> Protector {
    let nothing = [UInt8](repeating: 0, count: 32)
    return Protector(
      kind: .finger, state: .proven, id: Sodium.randomBytes(16), created: Process.time, retireAfter: 0,
      salt: Array(nothing.prefix(PasswordHash.saltSize)), cost: keyCost, commitment: nothing,
      sealed: [mayBeInMemory ? 1 : 0])
  }

  /// Whether the covering key may be in memory if there is no TPM.
  public var mayBeInMemory: Bool { kind == .finger && sealed == [1] }
}

extension Keybag {
  /// The protector of a finger; nil if there is none.
  public var fingerProtector: Protector? { protectors.first { $0.kind == .finger } }
}

extension Keybag.Opened {
  /// The keybag with this as its only protector of a finger, one generation later.
  ///
  /// - Throws: ``KeybagError/unreasonable`` if there is no room for another protector, or if the login has no password, because
  ///   such a vault is always unlocked.
  public borrowing func settingFinger(mayBeInMemory: Bool) throws(KeybagError) -> Keybag {
    let others = keybag.protectors.count { $0.kind != .finger }
    guard !keybag.isPasswordless, others < Keybag.protectorLimit else { throw .unreasonable }
    return try next { keybag in
      keybag.protectors.removeAll { $0.kind == .finger }
      keybag.protectors.append(.makeFinger(mayBeInMemory: mayBeInMemory))
    }
  }

  /// The keybag without a protector of a finger, one generation later; nil if there is no such protector.
  public borrowing func removingFinger() throws(KeybagError) -> Keybag? {
    guard keybag.fingerProtector != nil else { return nil }
    return try next { keybag in keybag.protectors.removeAll { $0.kind == .finger } }
  }
}
