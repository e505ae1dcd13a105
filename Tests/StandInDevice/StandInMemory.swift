import LatchkeyKeybag

/// Remembers the generations of vaults as the device key service does.
public final class StandInMemory: GenerationMemory {
  /// What is remembered, by the vault's id.
  public var known: [[UInt8]: VaultGenerations] = [:]
  /// Everything that was noted, in order.
  public private(set) var notes: [VaultGenerations] = []
  /// Why it cannot be used now.
  public var failure: DeviceKeyError?
  /// Whether what it notes is not answered, as when the answer takes too long.
  public var isMute = false

  /// Knows nothing.
  public init() {}

  /// Keeps the greater number of each, or begins with these.
  public func note(
    _ generations: VaultGenerations, of vault: [UInt8], isBeginning: Bool, until deadline: Int
  ) throws(DeviceKeyError) -> VaultGenerations? {
    if let failure { throw failure }
    let before = known[vault]
    notes.append(generations)
    known[vault] =
      isBeginning
      ? generations
      : VaultGenerations(
        keybag: max(generations.keybag, before?.keybag ?? 0), database: max(generations.database, before?.database ?? 0)
      )
    if isMute { throw .unavailable(.device(.silent)) }
    return before
  }
}
