import LatchkeyBytes
import LatchkeySodium

/// How a passphrase other than the login's becomes a key: a salt of its own, and the cost of one guess (RFC 9106, Argon2id).
public struct PassphraseDerivation: Equatable, Sendable {
  /// The encoded size, in bytes.
  public static let size = PasswordHash.saltSize + 4 + 8

  /// 16 random bytes.
  public let salt: [UInt8]
  /// Argon2id's parameters.
  public let cost: PasswordCost

  /// For a new passphrase: a new salt, and the cost that is compiled in.
  public static func make() -> PassphraseDerivation {
    PassphraseDerivation(salt: Sodium.randomBytes(PasswordHash.saltSize), cost: .compiledIn)
  }

  private init(salt: [UInt8], cost: PasswordCost) {
    self.salt = salt
    self.cost = cost
  }

  /// The key of `passphrase`.
  ///
  /// - Throws: ``KeybagError/unreasonable`` and ``KeybagError/noMemory``, before any work is done.
  public func key(_ passphrase: RawSpan) throws(KeybagError) -> Key {
    guard cost.isReasonable else { throw .unreasonable }
    guard cost.isAffordable else { throw .noMemory }
    return try KeybagError.sodium { () throws(SodiumError) in
      try PasswordHash.derive(password: passphrase, salt: salt, passes: cost.passes, memory: cost.memory)
    }
  }

  /// Adds salt, passes (u32) and memory (u64).
  public func encode(into out: inout ByteWriter) {
    out.put(salt)
    out.number(cost.passes)
    out.number(cost.memory)
  }

  /// Reads the same fields without a limit of the cost; nil if they are missing.
  public init?(decoding input: inout ByteReader) {
    guard let salt = try? input.take(PasswordHash.saltSize), let passes = try? input.number(UInt32.self),
      let memory = try? input.number(UInt64.self)
    else { return nil }
    self.init(salt: salt, cost: PasswordCost(passes: passes, memory: memory))
  }
}
