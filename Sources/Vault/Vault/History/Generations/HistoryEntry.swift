import LatchkeyPosix
import LatchkeyReasons

/// A generation, and the facts about it that need no key.
public struct HistoryEntry: Equatable, Sendable {
  /// The generation.
  public let generation: PastGeneration
  /// The number of items in the generation; nil if the generation cannot be read.
  public let items: Int64?
  /// Why the generation cannot be read; nil if it can.
  public let problem: Reason?
}

extension History {
  /// The generations below a number, the newest first. Each is opened, so their number and the time are limited.
  ///
  /// - Parameter time: the time limit in milliseconds; nil for no limit.
  /// - Returns: the generations, and whether there are older generations.
  public func entries(
    below number: UInt32 = .max, limit: Int = .max, for time: Int? = nil
  ) throws(VaultError) -> (entries: [HistoryEntry], hasMore: Bool) {
    let vault = try database.ready().vault
    let end = time.map { Process.now + $0 }
    let wanted = generations.filter { $0.number < number }
    var entries: [HistoryEntry] = []
    for generation in wanted.prefix(limit) {
      if let end, !entries.isEmpty, Process.now >= end { break }
      do throws(VaultError) {
        let items = try open(generation, vault: vault).itemCount()
        entries.append(HistoryEntry(generation: generation, items: items, problem: nil))
      } catch {
        entries.append(
          HistoryEntry(
            generation: generation, items: nil, problem: error.inGeneration(generation.number).reason))
      }
    }
    return (entries, entries.count < wanted.count)
  }
}
