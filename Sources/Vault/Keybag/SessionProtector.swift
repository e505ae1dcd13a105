import LatchkeyBytes
import LatchkeyPosix
import LatchkeySodium

/// Only tier key C of one key epoch, for a login in which nobody gave a password.
public struct SessionKey: ~Copyable {
  /// The key epoch of the key.
  public let epoch: UInt32
  /// Tier key C.
  public let key: Key

  /// Puts epoch and key together.
  public init(epoch: UInt32, key: consuming Key) {
    self.epoch = epoch
    self.key = key
  }
}

/// The protector of a session. The device key unwraps its secret at a login of a service that the administrator named. Tier key
/// C of the newest key epoch depends on that secret. Neither tier key A nor the root key does.
///
/// So this protector cannot check the keybag's tag. Instead, the sealed secret is bound to vault, protector and key epoch, and to
/// the epoch's commitment to C. If one of these differs, the secret does not open.
extension Protector {
  private static let sessionEpochOffset = DeviceSecret.Wrapping.wrappedSize
  private static let sessionKeyOffset = sessionEpochOffset + 4
  static let sessionSealedSize = sessionKeyOffset + Key.size + AEAD.overhead

  /// A new protector of a session.
  static func make(
    session secret: borrowing DeviceSecret, tiers: borrowing TierKeys, of epoch: TierEpoch, vault: [UInt8]
  ) throws(SodiumError) -> Protector {
    let (id, salt) = (secret.protector, secret.wrapping.identity)
    let wrap = try secret.key.derive(.sessionWrap, [vault, id])
    let associated = bound(
      associated(.session, vault: vault, id: id, salt: salt, cost: keyCost), number: epoch.number,
      commitment: epoch.sessionCommitment)
    var number = ByteWriter()
    number.number(epoch.number)
    return Protector(
      kind: .session, state: .proven, id: id, created: Process.time, retireAfter: 0, salt: salt, cost: keyCost,
      commitment: try secret.key.tag(.protectorCommitment, [vault, id]),
      sealed: secret.wrapping.wrapped + number.bytes
        + AEAD.seal(tiers.session.bytes, key: wrap, associated: associated))
  }

  /// The key epoch whose tier key C a session's protector has; nil for any other kind.
  var sessionEpoch: UInt32? {
    guard kind == .session, sealed.count == Protector.sessionSealedSize else { return nil }
    return UInt32(
      littleEndian: sealed.span.bytes.unsafeLoadUnaligned(fromByteOffset: Protector.sessionEpochOffset, as: UInt32.self)
    )
  }

  /// Tier key C of `epoch` if `secret` is this protector's secret, which the device key has unwrapped; otherwise nil.
  ///
  /// - Throws: ``KeybagError/damaged`` if the protector was made for another key epoch, or other keys.
  func open(sessionSecret secret: borrowing Key, epoch: TierEpoch, vault: [UInt8]) throws(KeybagError) -> SessionKey? {
    guard let number = sessionEpoch else { return nil }
    return try KeybagError.sodium { () throws(SodiumError) -> SessionKey? in
      guard Sodium.equal(try secret.tag(.protectorCommitment, [vault, id]), commitment) else { return nil }
      let wrap = try secret.derive(.sessionWrap, [vault, id])
      guard number == epoch.number else { throw .decryptionFailed }
      let associated = Protector.bound(associated(vault), number: number, commitment: epoch.sessionCommitment)
      let opened = SessionKey(
        epoch: number,
        key: try Key(
          try AEAD.open(
            sealed.span.bytes.extracting(droppingFirst: Protector.sessionKeyOffset), key: wrap, associated: associated))
      )
      guard try epoch.recognises(opened, vault: vault) else { throw .decryptionFailed }
      return opened
    }
  }

  private static func bound(_ associated: [UInt8], number: UInt32, commitment: [UInt8]) -> [UInt8] {
    var out = ByteWriter()
    out.put(associated)
    out.number(number)
    out.put(commitment)
    return out.bytes
  }
}

extension TierEpoch {
  /// Whether this is tier key C of this key epoch.
  func recognises(_ session: borrowing SessionKey, vault: [UInt8]) throws(SodiumError) -> Bool {
    let expected = try session.key.tag(.tierCommitment, [vault])
    return session.epoch == number && Sodium.equal(expected, sessionCommitment)
  }
}

extension Keybag {
  /// The protector that opens tier key C at a login without a password; nil if there is none.
  public var sessionProtector: Protector? { protectors.first { $0.kind == .session } }

  /// Opens with the secret of a session's protector, which the device key unwrapped. Returns only tier key C of the newest key
  /// epoch, so items that depend on former epochs wait for a password.
  ///
  /// This does not check the keybag's tag, because the check needs the root key. So do not believe anything else in this keybag.
  ///
  /// - Throws: ``KeybagError/damaged``, even if no protector has this secret: the device key unwrapped it as this keybag's.
  public func open(sessionSecret secret: borrowing Key) throws(KeybagError) -> SessionKey {
    for protector in protectors {
      if let opened = try protector.open(sessionSecret: secret, epoch: epoch, vault: vault) { return opened }
    }
    throw .damaged
  }

  /// Whether this is tier key C of the newest key epoch, and this keybag has a protector for it. The daemon checks this before it
  /// believes a peer. If the keybag has no such protector, a login without a password unlocks nothing, even with the key.
  public func recognises(_ session: borrowing SessionKey) throws(KeybagError) -> Bool {
    guard sessionProtector?.sessionEpoch == session.epoch else { return false }
    do { return try epoch.recognises(session, vault: vault) } catch { throw .noMemory }
  }
}

extension Keybag.Opened {
  /// The keybag, one generation later, in which this is the only protector of a session.
  ///
  /// - Throws: ``KeybagError/unreasonable`` if there is no room for another protector, or if the login has no password, because
  ///   such a vault is always unlocked.
  public borrowing func settingSession(_ secret: borrowing DeviceSecret) throws(KeybagError) -> Keybag {
    let made = try newSession(secret)
    return try next { keybag in
      keybag.protectors.removeAll { $0.kind == .session }
      keybag.protectors.append(made)
    }
  }

  /// The keybag without a protector of a session, one generation later; nil if it has no such protector.
  public borrowing func removingSession() throws(KeybagError) -> Keybag? {
    guard keybag.sessionProtector != nil else { return nil }
    return try next { keybag in keybag.protectors.removeAll { $0.kind == .session } }
  }

  /// The keybag, not yet in a file, with a session's protector. This is used after a change of keys, with a new secret.
  public borrowing func carryingSession(_ secret: borrowing DeviceSecret) throws(KeybagError) -> Keybag.Opened {
    let made = try newSession(secret)
    var next = keybag
    next.protectors.append(made)
    do throws(SodiumError) {
      try next.sign(root: root)
      return Keybag.Opened(keybag: next, root: try root.duplicate(), protector: protector)
    } catch { throw KeybagError(error) }
  }

  private borrowing func newSession(_ secret: borrowing DeviceSecret) throws(KeybagError) -> Protector {
    let keybag = keybag
    let others = keybag.protectors.count { $0.kind != .session }
    guard !keybag.isPasswordless, others < Keybag.protectorLimit else { throw .unreasonable }
    let tiers = try tiers()
    do throws(SodiumError) {
      return try Protector.make(session: secret, tiers: tiers, of: keybag.epoch, vault: keybag.vault)
    } catch { throw KeybagError(error) }
  }
}
