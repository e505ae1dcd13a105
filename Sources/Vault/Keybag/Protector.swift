import LatchkeyBytes
import LatchkeyPosix
import LatchkeySodium

/// One way to the root key: a password, a recovery code, a security key, or the device key alone.
public struct Protector: Equatable, Sendable {
  /// Whether a login has confirmed a protector.
  public enum State: UInt8, Sendable {
    /// Made at creation, or by a change of the password; no login has shown yet that the password stays.
    case unproven = 0
    /// A later login opened the protector.
    case proven = 1
    /// Counts as proven; not written by this version.
    case retiring = 2
  }

  /// The way to open the protector.
  public let kind: Kind
  /// Whether a login has confirmed the protector.
  public var state: State
  /// The protector's name: 16 random bytes.
  public let id: [UInt8]
  /// When the protector was made, in seconds since 1970.
  public let created: UInt64
  /// When the protector may end if no login has used it, in seconds since 1970; 0 for never.
  public private(set) var retireAfter: UInt64
  /// 16 random bytes for Argon2id, of this protector only. For the device key and for a session: the device key's identity.
  public let salt: [UInt8]
  /// The cost of one guess.
  public let cost: PasswordCost
  /// 32 bytes that tell whether a password is this protector's: the cipher alone does not commit to its key.
  public let commitment: [UInt8]
  /// The wrapped root key. For a password: 72 bytes. For a recovery code: its public key, the root key sealed to it, the key of the
  /// proof, and the proof, 216 bytes. For the device key: the secret wrapped by the device key, and the root key under the secret,
  /// 144 bytes. For a session: the secret wrapped in the same way, an epoch, and the epoch's tier key C under the secret, 148
  /// bytes. For a security key: as for a recovery code, then its name and its credential. For a finger: one byte, whether its
  /// covering key may be in memory.
  public private(set) var sealed: [UInt8]

  static let passwordSealedSize = Key.size + AEAD.overhead

  /// A new protector for `password`.
  static func make(
    password: RawSpan, root: borrowing Key, vault: [UInt8], state: State, cost: PasswordCost, retireAfter: UInt64 = 0
  ) throws(KeybagError) -> Protector {
    guard cost.isAffordable else { throw .noMemory }
    let salt = Sodium.randomBytes(PasswordHash.saltSize)
    return try KeybagError.sodium { () throws(SodiumError) in
      let key = try PasswordHash.derive(password: password, salt: salt, passes: cost.passes, memory: cost.memory)
      return try make(
        derived: key, salt: salt, root: root, vault: vault, state: state, cost: cost, retireAfter: retireAfter)
    }
  }

  /// Makes a protector with the key that Argon2id derived from the password and `salt`.
  static func make(
    derived key: borrowing Key, salt: [UInt8], root: borrowing Key, vault: [UInt8], state: State, cost: PasswordCost,
    retireAfter: UInt64 = 0
  ) throws(SodiumError) -> Protector {
    let id = Sodium.randomBytes(16)
    let wrap = try key.derive(.protectorWrap, [vault, id])
    return Protector(
      kind: .password, state: state, id: id, created: Process.time, retireAfter: retireAfter, salt: salt, cost: cost,
      commitment: try key.tag(.protectorCommitment, [vault, id]),
      sealed: AEAD.seal(
        root.bytes, key: wrap, associated: associated(.password, vault: vault, id: id, salt: salt, cost: cost)))
  }

  /// Marks the protector as proven, after the system has accepted a login that opened it.
  mutating func prove() {
    guard state == .unproven else { return }
    (state, retireAfter) = (.proven, 0)
  }

  /// The protector with another deadline by which a login must use it.
  func renewed(until time: UInt64) -> Protector {
    var other = self
    other.retireAfter = time
    return other
  }

  /// Whether the protector's deadline is over and no login has used it.
  func isOutdated(at now: UInt64) -> Bool { state == .unproven && retireAfter != 0 && now >= retireAfter }

  /// The root key if `password` belongs to this protector, otherwise nil.
  func open(password: RawSpan, vault: [UInt8]) throws(KeybagError) -> Key? {
    guard kind == .password else { return nil }
    guard cost.isReasonable else { throw .unreasonable }
    guard cost.isAffordable else { throw .noMemory }
    let key = try KeybagError.sodium { () throws(SodiumError) in
      try PasswordHash.derive(password: password, salt: salt, passes: cost.passes, memory: cost.memory)
    }
    return try open(derived: key, vault: vault)
  }

  /// Opens the protector with the key that Argon2id derived from the password and ``salt``.
  func open(derived key: borrowing Key, vault: [UInt8]) throws(KeybagError) -> Key? {
    guard kind == .password else { return nil }
    return try KeybagError.sodium { () throws(SodiumError) -> Key? in
      let expected = try key.tag(.protectorCommitment, [vault, id])
      guard Sodium.equal(expected, commitment) else { return nil }
      let wrap = try key.derive(.protectorWrap, [vault, id])
      return try Key(
        try AEAD.open(
          sealed.span.bytes, key: wrap,
          associated: Protector.associated(kind, vault: vault, id: id, salt: salt, cost: cost)))
    }
  }

  // MARK: - device key

  /// Nobody can guess 128 random bits, so no Argon2id is needed to make a guess slow.
  static let keyCost = PasswordCost(passes: 0, memory: 0)
  static let deviceSealedSize = DeviceSecret.Wrapping.wrappedSize + Key.size + AEAD.overhead

  /// A new protector that depends on the device key alone.
  static func make(
    device secret: borrowing DeviceSecret, root: borrowing Key, vault: [UInt8]
  ) throws(SodiumError) -> Protector {
    let (id, salt) = (secret.protector, secret.wrapping.identity)
    let wrap = try secret.key.derive(.protectorWrap, [vault, id])
    return Protector(
      kind: .device, state: .proven, id: id, created: Process.time, retireAfter: 0, salt: salt, cost: keyCost,
      commitment: try secret.key.tag(.protectorCommitment, [vault, id]),
      sealed: secret.wrapping.wrapped
        + AEAD.seal(
          root.bytes, key: wrap, associated: associated(.device, vault: vault, id: id, salt: salt, cost: keyCost)))
  }

  /// This protector's secret, wrapped by the device key; nil for a kind without such a secret.
  public var deviceWrapping: DeviceSecret.Wrapping? {
    guard kind.holder == .deviceKey else { return nil }
    return DeviceSecret.Wrapping(
      identity: salt, wrapped: Array(sealed.prefix(DeviceSecret.Wrapping.wrappedSize)))
  }

  /// The root key if `secret` is this protector's secret, which the device key has unwrapped; otherwise nil.
  func open(deviceSecret secret: borrowing Key, vault: [UInt8]) throws(KeybagError) -> Key? {
    guard kind == .device else { return nil }
    return try KeybagError.sodium { () throws(SodiumError) -> Key? in
      guard Sodium.equal(try secret.tag(.protectorCommitment, [vault, id]), commitment) else { return nil }
      let wrap = try secret.derive(.protectorWrap, [vault, id])
      let own = sealed.span.bytes.extracting(droppingFirst: DeviceSecret.Wrapping.wrappedSize)
      return try Key(try AEAD.open(own, key: wrap, associated: associated(vault)))
    }
  }

  // MARK: - recovery code

  private static let recoveryBoxEnd = SealedBox.publicKeySize + Key.size + SealedBox.overhead
  private static let recoveryHeldEnd = recoveryBoxEnd + Key.size + AEAD.overhead
  static let recoverySealedSize = recoveryHeldEnd + 32

  /// A new protector for `code`.
  static func make(
    code: borrowing RecoveryCode, root: borrowing Key, vault: [UInt8]
  ) throws(SodiumError) -> Protector {
    let id = Sodium.randomBytes(16)
    let salt = Sodium.randomBytes(PasswordHash.saltSize)
    return try make(.recoveryCode, key: try code.key(salt: salt), id: id, salt: salt, root: root, vault: vault)
  }

  /// Makes a protector that seals the root key to a public key. The private half is derived from `key`.
  ///
  /// - Parameter facts: the bytes behind the sealed root key.
  static func make(
    _ kind: Kind, key: borrowing Key, id: [UInt8], salt: [UInt8], root: borrowing Key, vault: [UInt8],
    facts: [UInt8] = []
  ) throws(SodiumError) -> Protector {
    let publicKey = SealedBox.publicKey(of: try key.derive(.recoveryPrivate, [vault, id]))
    var made = Protector(
      kind: kind, state: .proven, id: id, created: Process.time, retireAfter: 0, salt: salt,
      cost: keyCost, commitment: try key.tag(.protectorCommitment, [vault, id]),
      sealed: [UInt8](repeating: 0, count: recoverySealedSize) + facts)
    try made.seal(root, to: publicKey, attest: try key.derive(.recoveryAttest, [vault, id]), vault: vault)
    return made
  }

  /// Every reader of the keybag can seal to the public key, and the keybag's own tag depends on the root key. So a stranger could
  /// replace this vault by another vault that the code would open. The proof of the root key prevents this: only the code or an
  /// earlier root key can make it.
  private mutating func seal(
    _ root: borrowing Key, to publicKey: [UInt8], attest: borrowing Key, vault: [UInt8]
  ) throws(SodiumError) {
    let hold = try root.derive(.recoveryHold, [vault, id])
    let held = AEAD.seal(attest.bytes, key: hold, associated: associated(vault))
    let box = try SealedBox.seal(root.bytes, to: publicKey)
    let facts = sealed.dropFirst(Protector.recoverySealedSize)
    sealed = publicKey + box + held + (try proof(of: root, publicKey, attest: attest, vault: vault)) + facts
  }

  private func proof(
    of root: borrowing Key, _ publicKey: [UInt8], attest: borrowing Key, vault: [UInt8]
  ) throws(SodiumError) -> [UInt8] {
    var hash = try KeyedHash(key: attest)
    hash.update(KeyLabel.recoveryProof.text)
    for input in [vault, id, publicKey] { hash.update(input.span.bytes) }
    hash.update(root)
    return hash.tag()
  }

  /// The root key if `code` belongs to this protector, otherwise nil.
  ///
  /// - Throws: ``KeybagError/damaged``, even if the code opens it but a stranger sealed the root key.
  func open(code: borrowing RecoveryCode, vault: [UInt8]) throws(KeybagError) -> Key? {
    guard kind == .recoveryCode else { return nil }
    return try KeybagError.sodium { () throws(SodiumError) -> Key? in
      try open(key: try code.key(salt: salt), vault: vault)
    }
  }

  /// The root key if the private half that is derived from `key` belongs to this protector, otherwise nil.
  func open(key: borrowing Key, vault: [UInt8]) throws(SodiumError) -> Key? {
    guard Sodium.equal(try key.tag(.protectorCommitment, [vault, id]), commitment) else { return nil }
    let secret = try key.derive(.recoveryPrivate, [vault, id])
    let box = sealed.span.bytes.extracting(SealedBox.publicKeySize..<Protector.recoveryBoxEnd)
    let root = try Key(try SealedBox.open(box, secret: secret))
    let attest = try key.derive(.recoveryAttest, [vault, id])
    let expected = try proof(of: root, SealedBox.publicKey(of: secret), attest: attest, vault: vault)
    let proof = Array(sealed[Protector.recoveryHeldEnd..<Protector.recoverySealedSize])
    guard Sodium.equal(expected, proof) else { throw .decryptionFailed }
    return root
  }

  /// The protector of a recovery code, or of a security key, for another root key than `before`. It is made without the code or the
  /// security key: this needs only the protector's public key, and the key of the proof.
  func resealed(
    _ root: borrowing Key, before: borrowing Key, vault: [UInt8]
  ) throws(SodiumError) -> Protector {
    let held = sealed.span.bytes.extracting(Protector.recoveryBoxEnd..<Protector.recoveryHeldEnd)
    let attest = try Key(
      try AEAD.open(held, key: try before.derive(.recoveryHold, [vault, id]), associated: associated(vault)))
    var next = self
    try next.seal(root, to: Array(sealed.prefix(SealedBox.publicKeySize)), attest: attest, vault: vault)
    return next
  }

  /// The protector with other bytes behind the sealed root key.
  func withFacts(_ facts: [UInt8]) -> Protector {
    var other = self
    other.sealed = sealed.prefix(Protector.recoverySealedSize) + facts
    return other
  }

  func associated(_ vault: [UInt8]) -> [UInt8] {
    Protector.associated(kind, vault: vault, id: id, salt: salt, cost: cost)
  }

  static func associated(
    _ kind: Kind, vault: [UInt8], id: [UInt8], salt: [UInt8], cost: PasswordCost
  ) -> [UInt8] {
    var out = ByteWriter()
    out.number(Keybag.version)
    out.put(vault)
    out.put(id)
    out.number(kind.rawValue)
    out.put(salt)
    out.number(cost.passes)
    out.number(cost.memory)
    return out.bytes
  }

  func encode(into out: inout ByteWriter) {
    out.number(kind.rawValue)
    out.number(state.rawValue)
    out.put(id)
    out.number(created)
    out.number(retireAfter)
    out.put(salt)
    out.number(cost.passes)
    out.number(cost.memory)
    out.put(commitment)
    out.short(sealed)
  }

  init(decoding input: inout ByteReader) throws(KeybagError) {
    do {
      guard let kind = Kind(rawValue: try input.number()), let state = State(rawValue: try input.number()) else {
        throw KeybagError.unreasonable
      }
      self.kind = kind
      self.state = state
      id = try input.take(16)
      created = try input.number()
      retireAfter = try input.number()
      salt = try input.take(PasswordHash.saltSize)
      cost = PasswordCost(passes: try input.number(), memory: try input.number())
      // Checked before any work is done.
      guard kind.holder == .person ? cost.isReasonable : cost == Protector.keyCost else {
        throw KeybagError.unreasonable
      }
      commitment = try input.take(32)
      sealed = try input.short()
      guard kind.sealedSizes.contains(sealed.count), kind != .securityKey || securityKey != nil,
        kind != .finger || sealed[0] <= 1
      else { throw KeybagError.unreasonable }
    } catch let error as KeybagError {
      throw error
    } catch {
      throw .truncated
    }
  }

  init(
    kind: Kind, state: State, id: [UInt8], created: UInt64, retireAfter: UInt64, salt: [UInt8], cost: PasswordCost,
    commitment: [UInt8], sealed: [UInt8]
  ) {
    self.kind = kind
    self.state = state
    self.id = id
    self.created = created
    self.retireAfter = retireAfter
    self.salt = salt
    self.cost = cost
    self.commitment = commitment
    self.sealed = sealed
  }
}
