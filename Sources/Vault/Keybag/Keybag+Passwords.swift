import LatchkeyPosix
import LatchkeySodium

// A change of the login password. At the moment of the change, nobody knows which of the two passwords the system will accept: a
// later PAM module may refuse the change, or the process may be killed. So both passwords open the vault until a login shows which
// one is right.
extension Keybag {
  /// The most passwords that open a keybag at one time.
  public static let passwordLimit = 4
  /// The seconds for which a password stays at least if no login has used it yet: a week.
  static let unprovenTime: UInt64 = 7 * 86400

  /// The number of passwords that open the keybag.
  public var passwordCount: Int { protectors.count { $0.kind == .password } }

  /// Whether an unlock with the password changes nothing in the file: no password waits for a proof, and no keys can be dropped.
  public var isSettled: Bool {
    !isPasswordless && !awaitsDatabase && epochs.count == 1 && passwordCount == 1
      && protectors.allSatisfy { $0.kind != .password || $0.state != .unproven }
  }

  /// The protectors that stay after an accepted login that the protector at `index` opened. The newest password is first. A
  /// password that is now proven ends all older passwords. If a password's time is over, no login has used it, and an older
  /// password was accepted, then its change never took effect and it ends.
  func protectors(provenBy index: Int, now: UInt64) -> [Protector] {
    let present = protectors[index]
    var left: [Protector] = []
    for (place, protector) in protectors.enumerated() {
      if place == index {
        var proven = protector
        proven.prove()
        left.append(proven)
      } else if present.kind != .password || protector.kind != .password {
        left.append(protector)
      } else if place > index ? present.state != .unproven : !protector.isOutdated(at: now) {
        left.append(protector)
      }
    }
    return left
  }
}

extension Keybag.Opened {
  /// The least age of an unproven password, in seconds, at which it may end other passwords without a login or a screen locker.
  private static let youth: UInt64 = 86_400

  /// Whether the password that opened the keybag may end others, although it was only an answer to a prompt. A new password that no
  /// login has used may really be a code of a second factor, which PAM passed on instead of the password.
  public func mayEndOthers(now: UInt64 = Process.time) -> Bool {
    let opener = keybag.protectors[protector]
    return opener.state != .unproven || keybag.passwordCount < 2
      || (now >= opener.created && now - opener.created >= Self.youth)
  }

  /// The keybag with `password` added in front, unproven, one generation later; nil if a proven protector has this password
  /// already. If the password was chosen before and never used, its time begins again.
  ///
  /// - Parameters:
  ///   - password: another password than the one that opened.
  ///   - opensNothing: whether it is known already that no protector has this password, so that no Argon2id is needed.
  public borrowing func addingPassword(
    _ password: RawSpan, opensNothing: Bool = false, cost: PasswordCost, now: UInt64 = Process.time
  ) throws(KeybagError) -> Keybag? {
    let (keybag, mine) = (self.keybag, self.protector)
    if !opensNothing {
      for (place, other) in keybag.protectors.enumerated() where place != mine {
        guard let _ = try other.open(password: password, vault: keybag.vault) else { continue }
        guard other.state == .unproven else { return nil }
        return try adding(other.renewed(until: now + Keybag.unprovenTime))
      }
    }
    let made = try Protector.make(
      password: password, root: root, vault: keybag.vault, state: .unproven, cost: cost,
      retireAfter: now + Keybag.unprovenTime)
    return try adding(made)
  }

  /// The keybag with the password that opened in front, and its time begun again, one generation later; nil if that password
  /// has no end, because it is proven or created the vault.
  public borrowing func renewing(now: UInt64 = Process.time) throws(KeybagError) -> Keybag? {
    let opener = keybag.protectors[protector]
    guard opener.state == .unproven, opener.retireAfter != 0 else { return nil }
    return try adding(opener.renewed(until: now + Keybag.unprovenTime))
  }

  /// The keybag with a password's protector in front, one generation later. Costs no Argon2id.
  ///
  /// - Parameters:
  ///   - made: a protector of this root key; if the keybag has it already, it is moved.
  ///   - isAwaitingDatabase: as of ``next(isAwaitingDatabase:_:)``.
  public borrowing func adding(_ made: Protector, isAwaitingDatabase: Bool = false) throws(KeybagError) -> Keybag {
    var protectors = keybag.protectors
    let opener = protectors[protector].id
    protectors.removeAll { $0.id == made.id }
    while protectors.count(where: { $0.kind == .password }) >= Keybag.passwordLimit {
      // The system may still accept the password that opened.
      let others = protectors.indices.filter { protectors[$0].kind == .password && protectors[$0].id != opener }
      guard let oldest = others.last(where: { protectors[$0].state == .unproven }) ?? others.last else { break }
      protectors.remove(at: oldest)
    }
    guard protectors.count < Keybag.protectorLimit else { throw .unreasonable }
    protectors.insert(made, at: 0)
    return try next(isAwaitingDatabase: isAwaitingDatabase) { $0.protectors = protectors }
  }

  /// Opens a keybag that another process has written over this keybag, without computing Argon2id; nil if it has another root key,
  /// or does not have the protector that opened this keybag.
  public borrowing func reopening(_ other: Keybag) throws(KeybagError) -> Keybag.Opened? {
    let opener = keybag.protectors[protector].id
    guard other.vault == keybag.vault, let place = other.protectors.firstIndex(where: { $0.id == opener }),
      try other.isSigned(by: root)
    else { return nil }
    let copy = try KeybagError.sodium { () throws(SodiumError) in try root.duplicate() }
    return Keybag.Opened(keybag: other, root: copy, protector: place, time: time)
  }
}
