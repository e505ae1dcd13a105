/// A generation, and what is known of it without any key.
public struct HistoryEntry: Equatable, Sendable {
  /// The generation.
  public let generation: PastGeneration
  /// How many items it has; nil where it cannot be read.
  public let items: Int64?
  /// Why it cannot be read, for a person; nil where it can.
  public let problem: String?
}

extension Vault {
  /// The generations below a number, the newest first; so many at most, as each is opened.
  public func historyEntries(
    below number: UInt32 = .max, limit: Int = .max
  ) throws(VaultError) -> [HistoryEntry] {
    let vault = try database.ready().vault
    return history.generations.filter { $0.number < number }.prefix(limit).map { generation in
      do throws(VaultError) {
        let items = try history.open(generation, vault: vault).itemCount()
        return HistoryEntry(generation: generation, items: items, problem: nil)
      } catch {
        return HistoryEntry(
          generation: generation, items: nil, problem: error.inGeneration(generation.number).explanation)
      }
    }
  }
}
