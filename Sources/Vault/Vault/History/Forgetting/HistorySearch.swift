import LatchkeyBackup
import LatchkeyPosix

/// A search of all generations for items to remove, a few at a time. It changes nothing.
public final class HistorySearch {
  /// An item.
  public struct Line: Equatable, Sendable {
    /// The uuid that names the item to ``History/forgetEverywhere(_:)``: 16 bytes.
    public let uuid: [UInt8]
    /// Whether the vault has the item now. For such an item, the other fields are empty.
    public let isPresent: Bool
    /// The item's number in the generation.
    public let item: Int64
    /// The number of the item's collection.
    public let home: Int64
    /// The label of the item's collection; empty if the label cannot be read now.
    public let collection: String
    /// The item's label; empty if the label cannot be read now.
    public let label: String
  }

  private let vault: Vault
  private let selected: SelectedItems
  /// The generations that were not searched yet, the newest last. So an item is described by the newest generation that has it.
  private var waiting: [UInt32]
  private var past: OpenedGeneration?
  private var position: Int64 = 0
  private var seen: Set<[UInt8]> = []

  /// The findings so far.
  public private(set) var lines: [Line] = []
  /// The number of items that were looked at.
  public private(set) var done: UInt64 = 0

  private static let batch = 32

  /// Begins.
  ///
  /// - Parameter present: items of the vault that are also wanted, by their numbers.
  public init(_ vault: Vault, _ selection: HistorySelection, present: Set<Int64>) throws(VaultError) {
    guard vault.isUnlocked else { throw .isLocked }
    self.vault = vault
    selected = try SelectedItems(selection, vault)
    // The unfinished copy may have items that were deleted later. It is not a generation yet, so this search would miss them.
    vault.history.rest()
    waiting = vault.history.generations.map(\.number).reversed()
    seen = try vault.reader.uuids(ofItems: present)
    for uuid in seen { lines.append(Line(uuid: uuid, isPresent: true, item: 0, home: 0, collection: "", label: "")) }
  }

  /// Looks for a moment.
  ///
  /// - Returns: whether there is more.
  public func step() throws(VaultError) -> Bool {
    guard vault.isUnlocked else { throw .isLocked }
    let end = Process.now + History.stepTime
    repeat {
      guard let past else {
        guard let next = waiting.popLast() else { return false }
        // A generation that cannot be read is named when the items are removed.
        past = try? OpenedGeneration(vault, number: next)
        position = 0
        continue
      }
      let batch = (try? past.items(after: position, limit: Self.batch)) ?? []
      for id in batch {
        position = id
        done += 1
        if let item = try? past.item(id) { try take(item, of: past) }
      }
      if batch.isEmpty { self.past = nil }
    } while Process.now < end
    return true
  }

  private func take(_ item: PastItem, of past: OpenedGeneration) throws(VaultError) {
    // An item that the vault has was requested by its number, or has other attributes by now.
    guard !seen.contains(item.row.uuid), selected.includes(item, of: past), try !vault.reader.hasItems([item.row.uuid])
    else { return }
    seen.insert(item.row.uuid)
    lines.append(
      Line(
        uuid: item.row.uuid, isPresent: false, item: item.row.id, home: item.row.collection,
        collection: ArchiveReport.Line.cut(past.label(of: item.collection)),
        label: ArchiveReport.Line.cut(item.opened?.metadata.label ?? "")))
  }
}
