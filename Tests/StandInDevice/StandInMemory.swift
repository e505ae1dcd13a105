import LatchkeyKeybag

/// Remembers the generations of vaults as the device key service does.
public final class StandInMemory: GenerationMemory {
  /// The remembered generations, by the id of the vault.
  public var known: [[UInt8]: VaultGenerations] = [:]
  /// All requests to remember generations, in order.
  public private(set) var notes: [VaultGenerations] = []
  /// The reason why the stand-in cannot be used now.
  public var failure: DeviceKeyError?
  /// Whether the stand-in remembers generations but does not answer, as if the answer took too long.
  public var isMute = false

  /// A memory without any generations.
  public init() {}

  /// Keeps the higher number of each generation, or begins with these.
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
