/// The generations of a vault's files, which grow with each writing. These numbers distinguish older copies from the newest files.
public struct VaultGenerations: Equatable, Sendable {
  /// The keybag's generation.
  public var keybag: UInt64
  /// The database's generation.
  public var database: UInt64

  /// Puts the values together.
  public init(keybag: UInt64, database: UInt64) {
    self.keybag = keybag
    self.database = database
  }
}

/// Remembers the generations of vaults in a place outside of the vaults' own files.
public protocol GenerationMemory: AnyObject {
  /// Notes the generations of a vault's files, which must be on the disk by then.
  ///
  /// - Parameters:
  ///   - vault: the vault's id.
  ///   - isBeginning: whether these replace the remembered generations; otherwise the greater number of each stays.
  ///   - deadline: the end of the wait for an answer, by `Process.now`.
  /// - Returns: the generations that were remembered before; nil for an unknown vault.
  /// - Throws: ``DeviceKeyError/otherDevice`` if nothing is remembered for this user.
  func note(
    _ generations: VaultGenerations, of vault: [UInt8], isBeginning: Bool, until deadline: Int
  ) throws(DeviceKeyError) -> VaultGenerations?
}
