// Keybag: the hierarchy of keys, and the file that holds it.
//
//     password --Argon2id--> root key --+--> tier key A (while unlocked)
//                                       `--> tier key C (first unlock to session end)
//
// A ``Keybag`` is the content of the file: protectors and key epochs. A ``Protector`` is one way to the root key: a password, a
// recovery code, a security key, the device key, or a session. A ``TierEpoch`` is one set of tier keys under the root key.
// ``KeyLabel`` lists every purpose that a key is used for. ``KeybagFile`` reads and replaces the file, and ``KeybagCopy`` keeps a
// copy.
//
//     let opened = try keybag.open(password: password.bytes)
//     let keys = try opened.tiers()
//
// Only `latchkey-derive` opens a keybag by a password. The daemon reads the file to know its
// generation, its protectors and its epochs.
//
// The module promises that the root key exists only inside ``Keybag/Opened``. A check sum finds damage
// without a password. A tag under the root key authenticates every byte, so a changed file opens
// nothing. No two purposes share a key. A file is replaced in one step, and a power cut leaves the
// former file or the new one. Of two files, the file with the higher generation is the newer.
//
// It does not keep a former password valid, because a generation of the vault has no keybag of its own.
// It cannot make a weak password strong, and only sets the cost of each guess (``PasswordCost``). It
// knows no item, no database and no bus. ``DeviceKey`` is a protocol here. The client of the service is
// in Wire, and ``FileDeviceKey`` is a key in a file. FORMAT.md has every derivation and every byte.

import LatchkeyBytes
import LatchkeyPosix
import LatchkeySodium

/// The content of the keybag file: protectors, each of which wraps the root key, and the tier keys under the root key.
///
///     password --Argon2id--> root key --> tier key A (while unlocked)
///                                    `--> tier key C (first unlock to session end)
///
/// A check sum finds damage without any password; a tag under the root key authenticates every byte. The root key lives
/// only inside ``Opened``, which the helper drops as soon as it has the tier keys.
public struct Keybag: Equatable, Sendable {
  /// The format that this program writes, and the newest that it reads.
  public static let version: UInt32 = 1
  /// The largest keybag, in bytes.
  public static let sizeLimit = 65536
  /// The most protectors a keybag may have.
  public static let protectorLimit = 16
  /// The most key epochs that a keybag may have.
  public static let epochLimit = 8

  private static let magic = Array("LATCHKEY".utf8)
  private static let tagSize = 32

  /// 16 random bytes that keybag and database share.
  public let vault: [UInt8]
  /// Grows with every rewrite. It is 1 at creation, and stays 1 until the database is made
  /// (``Opened/next(isAwaitingDatabase:_:)``).
  public private(set) var generation: UInt64
  /// When the vault was created, in seconds since 1970.
  public let created: UInt64
  /// The ways to the root key: 1...16.
  public internal(set) var protectors: [Protector]
  /// The wrapped tier keys. The newest key epoch is last. Before it are the former epochs on which something still depends.
  public private(set) var epochs: [TierEpoch]
  private var tag: [UInt8]

  /// The key epoch that new collections use.
  public var epoch: TierEpoch { epochs[epochs.count - 1] }

  /// Whether no database was made for this keybag yet, as far as the keybag knows.
  public var awaitsDatabase: Bool { generation == 1 }

  /// The moment at which the recovery code was made, in seconds since 1970; nil if there is none.
  public var recoveryCodeCreated: UInt64? { protectors.first { $0.kind == .recoveryCode }?.created }

  /// Whether the device key alone opens the keybag: the login has no password, and the vault counts as always unlocked.
  public var isPasswordless: Bool { deviceProtector != nil }

  /// The protector that depends on the device key alone; nil if there is none.
  public var deviceProtector: Protector? { protectors.first { $0.kind == .device } }

  /// A keybag that was opened: the only place of the root key.
  public struct Opened: ~Copyable {
    /// The keybag that was opened.
    public let keybag: Keybag
    let root: Key
    /// Which protector opened, by its place in ``Keybag/protectors``.
    public let protector: Int
    /// How long this thread computed to check the password, in microseconds; 0 if no password was checked.
    let time: Int

    init(keybag: Keybag, root: consuming Key, protector: Int, time: Int = 0) {
      self.keybag = keybag
      self.root = root
      self.protector = protector
      self.time = time
    }

    /// How long the check of the password took, in milliseconds, if this machine is too slow for the password's cost and a new
    /// protector would cost less; otherwise nil.
    public var slowness: Int? {
      keybag.protectors[protector].cost.isTooMuch(taking: time) ? time / 1000 : nil
    }

    /// The newest tier keys.
    public borrowing func tiers() throws(KeybagError) -> TierKeys {
      let keybag = self.keybag
      return try KeybagError.sodium { () throws(SodiumError) in
        try keybag.epoch.open(root: root, vault: keybag.vault)
      }
    }

    /// The keybag, one generation later. From then on there is a database, and a missing database is a loss.
    public borrowing func confirming() throws(KeybagError) -> Keybag {
      try next { _ in }
    }

    /// The keybag one generation later. The protector that opened it is proven, and this removes the protectors that it ends. A
    /// retiring protector stays retiring.
    public borrowing func proving(now: UInt64 = Process.time) throws(KeybagError) -> Keybag {
      let protectors = keybag.protectors(provenBy: protector, now: now)
      return try next { $0.protectors = protectors }
    }

    /// The tier keys of the key epochs before the newest, oldest first.
    public borrowing func formerTiers() throws(KeybagError) -> [FormerTiers] {
      let keybag = self.keybag
      var former: [FormerTiers] = []
      for epoch in keybag.epochs.dropLast() {
        former.append(
          FormerTiers(
            number: epoch.number,
            tiers: try KeybagError.sodium { () throws(SodiumError) in
              try epoch.open(root: root, vault: keybag.vault)
            }))
      }
      return former
    }

    /// The keybag one generation later, with new keys: another root key, another newest key epoch, and `password` as the only
    /// password. The former tier keys stay until nothing depends on them. The recovery code and the security keys stay, because the
    /// new root key can be sealed to them. With the first password, only a code that opened the keybag stays: any other code may be
    /// from a stranger who used the unlocked vault.
    ///
    /// - Parameter isAwaitingDatabase: as of ``next(isAwaitingDatabase:_:)``.
    /// - Throws: ``KeybagError/tooManyEpochs``, ``KeybagError/noMemory``.
    public borrowing func rotated(
      password: RawSpan, isAwaitingDatabase: Bool = false, cost: PasswordCost
    ) throws(KeybagError) -> Opened {
      let vault = keybag.vault
      let present = keybag.protectors[protector]
      // A password that opened nothing yet may be a one-time password.
      let state: Protector.State = present.kind == .password && present.state != .unproven ? .proven : .unproven
      let fresh = try KeybagError.sodium { () throws(SodiumError) in try Key.random() }
      let mine = try Protector.make(password: password, root: fresh, vault: vault, state: state, cost: cost)
      return try rotated(to: fresh, mine, isAwaitingDatabase: isAwaitingDatabase)
    }

    /// A keybag with new keys, which only the device key opens.
    public borrowing func rotated(device secret: borrowing DeviceSecret) throws(KeybagError) -> Opened {
      let fresh = try KeybagError.sodium { () throws(SodiumError) in try Key.random() }
      let vault = keybag.vault
      let mine = try KeybagError.sodium { () throws(SodiumError) in
        try Protector.make(device: secret, root: fresh, vault: vault)
      }
      return try rotated(to: fresh, mine)
    }

    private borrowing func rotated(
      to fresh: consuming Key, _ mine: Protector, isAwaitingDatabase: Bool = false
    ) throws(KeybagError) -> Opened {
      let vault = keybag.vault
      let newest = keybag.epoch.number
      guard keybag.epochs.count < Keybag.epochLimit, newest < .max else { throw .tooManyEpochs }
      let former = try formerTiers()
      let tiers = try tiers()
      var next = keybag
      next.generation = nextGeneration(isAwaitingDatabase: isAwaitingDatabase)
      next.protectors = [mine]
      // The setting for fingers stays with new keys. The first password of a login ends the setting, as it ends other protectors.
      if mine.kind == .password, !keybag.isPasswordless {
        next.protectors += [keybag.fingerProtector].compactMap { $0 }
      }
      do throws(SodiumError) {
        for kept in codes(besides: mine.kind) + securityKeys(besides: mine.kind) {
          next.protectors.append(try kept.resealed(fresh, before: root, vault: vault))
        }
        next.epochs = []
        for one in former {
          next.epochs.append(try TierEpoch(number: one.number, tiers: one.tiers, root: fresh, vault: vault))
        }
        next.epochs.append(try TierEpoch(number: newest, tiers: tiers, root: fresh, vault: vault))
        next.epochs.append(try TierEpoch(number: newest + 1, tiers: try .random(), root: fresh, vault: vault))
        try next.sign(root: fresh)
      } catch { throw KeybagError(error) }
      return Opened(keybag: next, root: fresh, protector: 0)
    }

    /// The keybag without the key epochs before `oldest`, one generation later; nil if it has no older key epochs.
    ///
    /// - Parameter proving: whether the protector that opened the keybag also becomes proven, which ends other protectors.
    public borrowing func dropping(
      epochsBefore oldest: UInt32, proving: Bool, now: UInt64 = Process.time
    ) throws(KeybagError) -> Keybag? {
      let keybag = self.keybag
      let kept = keybag.epochs.filter { $0.number >= oldest }
      let protectors = proving ? keybag.protectors(provenBy: protector, now: now) : keybag.protectors
      guard !kept.isEmpty, kept.count < keybag.epochs.count || protectors != keybag.protectors else { return nil }
      return try next { keybag in
        keybag.epochs = kept
        keybag.protectors = protectors
      }
    }

    /// The keybag with `code` as its only recovery code, or without any, one generation later.
    public borrowing func settingRecoveryCode(_ code: borrowing RecoveryCode) throws(KeybagError) -> Keybag {
      let vault = keybag.vault
      let made = try KeybagError.sodium { () throws(SodiumError) in
        try Protector.make(code: code, root: root, vault: vault)
      }
      return try next { keybag in
        keybag.protectors.removeAll { $0.kind == .recoveryCode }
        keybag.protectors.append(made)
      }
    }

    /// The keybag without a recovery code, one generation later; nil if it has no recovery code.
    public borrowing func removingRecoveryCode() throws(KeybagError) -> Keybag? {
      guard keybag.recoveryCodeCreated != nil else { return nil }
      return try next { keybag in keybag.protectors.removeAll { $0.kind == .recoveryCode } }
    }

    /// The keybag that only the device key opens, one generation later. A recovery code stays.
    ///
    /// - Parameter isAwaitingDatabase: as of ``next(isAwaitingDatabase:_:)``.
    public borrowing func removingPassword(
      _ secret: borrowing DeviceSecret, isAwaitingDatabase: Bool = false
    ) throws(KeybagError) -> Keybag {
      let vault = keybag.vault
      let made = try KeybagError.sodium { () throws(SodiumError) in
        try Protector.make(device: secret, root: root, vault: vault)
      }
      return try next(isAwaitingDatabase: isAwaitingDatabase) { keybag in
        keybag.protectors.removeAll { $0.kind.ends(with: .removedPassword) }
        keybag.protectors.insert(made, at: 0)
      }
    }

    /// The recovery codes that stay with a new protector of this kind. With the first password, only the code that opened the
    /// keybag stays. Before that, only the device key protected the vault, so a stranger could have made the other codes.
    private borrowing func codes(besides kind: Protector.Kind) -> [Protector] {
      let isFirst = keybag.isPasswordless && kind == .password
      let mine = keybag.protectors[protector].id
      return keybag.protectors.filter { $0.kind == .recoveryCode && (!isFirst || $0.id == mine) }
    }

    /// The keybag with `password` as its only password, one generation later. The keybag no longer depends on the device key.
    ///
    /// - Parameter isAwaitingDatabase: as of ``next(isAwaitingDatabase:_:)``.
    public borrowing func settingPassword(
      _ password: RawSpan, isAwaitingDatabase: Bool = false, cost: PasswordCost
    ) throws(KeybagError) -> Keybag {
      let made = try Protector.make(
        password: password, root: root, vault: keybag.vault, state: .proven, cost: cost)
      // The first password ends everything that a stranger could have made while there was no password.
      let isFirst = keybag.isPasswordless
      let codes = isFirst ? codes(besides: .password) : []
      return try next(isAwaitingDatabase: isAwaitingDatabase) { keybag in
        keybag.protectors.removeAll { $0.kind.ends(with: isFirst ? .firstPassword : .otherPassword) }
        keybag.protectors.insert(made, at: 0)
        keybag.protectors += codes
      }
    }

    /// The keybag after a change, one generation later.
    ///
    /// - Parameter isAwaitingDatabase: whether the folder has no database yet, and no former state of a database. A generation of 1
    ///   then stays 1, because from generation 2 on a missing database is a loss.
    borrowing func next(
      isAwaitingDatabase: Bool = false, _ change: (inout Keybag) -> Void
    ) throws(KeybagError) -> Keybag {
      var next = keybag
      next.generation = nextGeneration(isAwaitingDatabase: isAwaitingDatabase)
      change(&next)
      return try KeybagError.sodium { () throws(SodiumError) in
        try next.sign(root: root)
        return next
      }
    }

    private borrowing func nextGeneration(isAwaitingDatabase: Bool) -> UInt64 {
      isAwaitingDatabase && keybag.awaitsDatabase ? keybag.generation : keybag.generation + 1
    }
  }

  /// A new vault's keybag with one password protector, unproven, and its tier keys.
  ///
  /// - Throws: ``KeybagError/noMemory``.
  public static func create(
    password: RawSpan, cost: PasswordCost
  ) throws(KeybagError) -> Opened {
    let vault = Sodium.randomBytes(16)
    let root = try KeybagError.sodium { () throws(SodiumError) in try Key.random() }
    let protector = try Protector.make(password: password, root: root, vault: vault, state: .unproven, cost: cost)
    return try create(vault: vault, root: root, protector)
  }

  /// The keybag of a new vault that the device key alone opens.
  ///
  /// - Parameter vault: the vault's 16 random bytes, to which the secret is bound.
  /// - Throws: ``KeybagError/noMemory``.
  public static func create(
    vault: [UInt8], device secret: borrowing DeviceSecret
  ) throws(KeybagError) -> Opened {
    let root = try KeybagError.sodium { () throws(SodiumError) in try Key.random() }
    let protector = try KeybagError.sodium { () throws(SodiumError) in
      try Protector.make(device: secret, root: root, vault: vault)
    }
    return try create(vault: vault, root: root, protector)
  }

  /// The keybag of a new vault with that protector alone.
  static func create(
    vault: [UInt8], root: consuming Key, _ protector: Protector
  ) throws(KeybagError) -> Opened {
    var keybag: Keybag
    do throws(SodiumError) {
      let epoch = try TierEpoch(number: 1, tiers: try .random(), root: root, vault: vault)
      keybag = Keybag(vault: vault, created: Process.time, protectors: [protector], epochs: [epoch])
      try keybag.sign(root: root)
    } catch { throw KeybagError(error) }
    return Opened(keybag: keybag, root: root, protector: 0)
  }

  private init(vault: [UInt8], created: UInt64, protectors: [Protector], epochs: [TierEpoch]) {
    self.vault = vault
    generation = 1
    self.created = created
    self.protectors = protectors
    self.epochs = epochs
    tag = []
  }

  /// Tries `password` on each protector, proven protectors first. So a password that was chosen and then refused does not cost
  /// every login time.
  ///
  /// - Throws: ``KeybagError/wrongPassword`` if no protector opens; ``KeybagError/damaged`` if a protector opens but its root key
  ///   did not sign this keybag; ``KeybagError/noMemory``.
  public func open(password: RawSpan) throws(KeybagError) -> Opened {
    let proven = protectors.indices.filter { protectors[$0].state != .unproven }
    let others = protectors.indices.filter { protectors[$0].state == .unproven }
    for index in proven + others {
      let begun = Process.threadTime
      guard let root = try protectors[index].open(password: password, vault: vault) else { continue }
      return try opened(root, by: index, time: Process.threadTime - begun)
    }
    throw .wrongPassword
  }

  /// Tries a recovery code.
  ///
  /// - Throws: ``KeybagError/wrongPassword`` if the code is another vault's or an old code; ``KeybagError/damaged``.
  public func open(code: borrowing RecoveryCode) throws(KeybagError) -> Opened {
    for (index, protector) in protectors.enumerated() {
      guard let root = try protector.open(code: code, vault: vault) else { continue }
      return try opened(root, by: index)
    }
    throw .wrongPassword
  }

  /// Opens with the secret of the protector without a password, which the device key unwrapped.
  ///
  /// - Throws: ``KeybagError/wrongPassword`` if no protector has this secret; ``KeybagError/damaged``.
  public func open(deviceSecret secret: borrowing Key) throws(KeybagError) -> Opened {
    for (index, protector) in protectors.enumerated() {
      guard let root = try protector.open(deviceSecret: secret, vault: vault) else { continue }
      return try opened(root, by: index)
    }
    throw .wrongPassword
  }

  /// Opens with the root key, which must have signed this keybag.
  func opened(_ root: consuming Key, by protector: Int, time: Int = 0) throws(KeybagError) -> Opened {
    guard try isSigned(by: root) else { throw .damaged }
    return Opened(keybag: self, root: root, protector: protector, time: time)
  }

  /// Whether that root key signed this keybag.
  func isSigned(by root: borrowing Key) throws(KeybagError) -> Bool {
    let expected: [UInt8]
    do { expected = try root.tag(.keybagTag, [body]) } catch { throw .noMemory }
    return Sodium.equal(expected, tag)
  }

  /// Whether these are the newest tier keys of this keybag. The daemon checks the keys before it believes a peer.
  public func recognises(_ tiers: borrowing TierKeys) throws(KeybagError) -> Bool {
    do { return try epoch.recognises(tiers, vault: vault) } catch { throw .noMemory }
  }

  /// Whether `former` is all the tier keys of the key epochs before the newest, oldest first.
  public func recognises(_ former: [FormerTiers]) throws(KeybagError) -> Bool {
    guard former.count == epochs.count - 1 else { return false }
    for (one, epoch) in zip(former, epochs) {
      guard one.number == epoch.number else { return false }
      do { guard try epoch.recognises(one.tiers, vault: vault) else { return false } } catch { throw .noMemory }
    }
    return true
  }

  mutating func sign(root: borrowing Key) throws(SodiumError) {
    tag = try root.tag(.keybagTag, [body])
  }

  /// Everything in front of the tag.
  private var body: [UInt8] {
    var out = ByteWriter()
    out.put(Keybag.magic)
    out.number(Keybag.version)
    out.put(vault)
    out.number(generation)
    out.number(created)
    out.number(UInt8(protectors.count))
    for protector in protectors { protector.encode(into: &out) }
    out.number(UInt8(epochs.count))
    for epoch in epochs { epoch.encode(into: &out) }
    return out.bytes
  }

  /// The file's bytes: body, tag, check sum.
  public var encoded: [UInt8] {
    let signed = body + tag
    return signed + Sodium.checksum(signed.span.bytes)
  }

  /// Reads a keybag file, without trust in its content.
  public init(decoding bytes: [UInt8]) throws(KeybagError) {
    guard bytes.count <= Keybag.sizeLimit else { throw .truncated }
    guard bytes.starts(with: Keybag.magic.prefix(bytes.count)) else { throw .foreign }
    do {
      var input = ByteReader(bytes)
      _ = try input.take(Keybag.magic.count)
      let version: UInt32 = try input.number()
      // The check sum comes first: a flipped byte is damage, not a newer format.
      let intact = Keybag.checksumFits(bytes)
      guard version <= Keybag.version || !intact else { throw KeybagError.newerFormat(version) }
      guard intact else { throw input.remaining < 128 ? KeybagError.truncated : KeybagError.damaged }
      guard version == Keybag.version else { throw KeybagError.unreasonable }
      vault = try input.take(16)
      generation = try input.number()
      // The highest generation is refused, because the next write needs a higher one.
      guard (1..<UInt64.max).contains(generation) else { throw KeybagError.unreasonable }
      created = try input.number()
      let protectorCount: UInt8 = try input.number()
      guard (1...Keybag.protectorLimit).contains(Int(protectorCount)) else { throw KeybagError.unreasonable }
      var protectors: [Protector] = []
      for _ in 0..<protectorCount { protectors.append(try Protector(decoding: &input)) }
      // Each protector costs one Argon2id at a wrong password.
      guard protectors.count(where: { $0.kind == .password }) <= Keybag.passwordLimit else {
        throw KeybagError.unreasonable
      }
      self.protectors = protectors
      let sessions = protectors.count { $0.kind == .session }
      let hasDevice = protectors.contains { $0.kind == .device }
      let fingers = protectors.count { $0.kind == .finger }
      let securityKeys = protectors.count { $0.kind == .securityKey }
      guard sessions <= 1, fingers <= 1, securityKeys <= Keybag.securityKeyLimit,
        !hasDevice || sessions + fingers + securityKeys == 0
      else { throw KeybagError.unreasonable }
      let epochCount: UInt8 = try input.number()
      guard (1...Keybag.epochLimit).contains(Int(epochCount)) else { throw KeybagError.unreasonable }
      var epochs: [TierEpoch] = []
      for _ in 0..<epochCount {
        let epoch = try TierEpoch(decoding: &input)
        guard epoch.number > epochs.last?.number ?? 0 else { throw KeybagError.unreasonable }
        epochs.append(epoch)
      }
      self.epochs = epochs
      tag = try input.take(Keybag.tagSize)
      guard input.remaining == 32 else { throw KeybagError.truncated }
    } catch let error as KeybagError {
      throw error
    } catch {
      throw .truncated
    }
  }

  private static func checksumFits(_ bytes: [UInt8]) -> Bool {
    guard bytes.count > 32 else { return false }
    let sum = Sodium.checksum(bytes.span.bytes.extracting(droppingLast: 32))
    return sum.elementsEqual(bytes.suffix(32))
  }
}
