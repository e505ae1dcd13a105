import LatchkeyBackup
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons

/// A comparison of the vault with a generation of it, a few items at a time. It changes nothing.
public final class HistoryComparison {
  /// The change of an item since the generation.
  public enum Change: UInt8, Sendable {
    /// The item is not in the vault any more.
    case deleted = 1
    /// The item has another secret, label, attribute or requirement now.
    case changed = 2
    /// The generation does not have the item yet.
    case new = 3
  }

  /// An item that differs between the vault and the generation.
  public struct Line: Equatable, Sendable {
    /// The item's change.
    public let change: Change
    /// The item's uuid, which it keeps from generation to generation: 16 bytes.
    public let uuid: [UInt8]
    /// The item's number, also of a deleted item.
    public let item: Int64
    /// The number of the item's collection.
    public let home: Int64
    /// The label of the item's collection; empty if the label cannot be read now.
    public let collection: String
    /// The item's label, now or in the generation; empty if the label cannot be read now.
    public let label: String
    /// The item's class.
    public let accessibility: AccessibilityClass?
    /// Why the item cannot be brought back now; nil if it can, and for a new item.
    public let obstacle: Reason?
  }

  private let vault: Vault
  private let past: OpenedGeneration
  private var position: Int64 = 0
  private var presentPosition: Int64 = 0
  private var isPastDone = false

  /// The differences so far.
  public private(set) var lines: [Line] = []
  /// The number of items that are the same in both.
  public private(set) var same: UInt64 = 0
  /// The number of damaged rows in the generation.
  public private(set) var damaged: UInt64 = 0

  /// The number of items that were looked at, of all items.
  public private(set) var done: UInt64 = 0
  /// See ``done``.
  public let total: UInt64

  private static let batch = 32

  /// Begins.
  ///
  /// - Throws: if there is no such generation, or the generation cannot be read.
  public init(_ vault: Vault, with number: UInt32) throws(VaultError) {
    self.vault = vault
    past = try OpenedGeneration(vault, number: number)
    let counts = try (past.itemCount(), vault.reader.itemCount())
    total = UInt64(clamping: counts.0) + UInt64(clamping: counts.1)
  }

  /// Compares for a moment.
  ///
  /// - Returns: whether there is more.
  public func step() throws(VaultError) -> Bool {
    // As in ``HistoryRestore/step()``, the database is verified first.
    if !vault.isVerified, vault.verifyStep() { return true }
    let end = Process.now + History.stepTime
    repeat {
      if !isPastDone {
        let batch = try past.items(after: position, limit: Self.batch)
        for id in batch {
          position = id
          done += 1
          do throws(VaultError) { try compare(past.item(id)) } catch {
            guard case .damaged = error else { throw error }
            damaged += 1
          }
        }
        isPastDone = batch.isEmpty
      } else {
        let from = presentPosition
        let batch = try vault.database.reading { store throws(VaultError) in
          try store.items(after: from, limit: Self.batch)
        }
        for id in batch {
          presentPosition = id
          done += 1
          try lookForNew(id)
        }
        if batch.isEmpty { return false }
      }
    } while Process.now < end
    return true
  }

  private func compare(_ item: PastItem) throws(VaultError) {
    let present = try vault.database.reading { store throws(VaultError) -> ItemRow? in
      guard let id = try store.item(uuid: item.row.uuid) else { return nil }
      return try store.item(id)
    }
    if let present, present.hasContent(of: item.row) {
      same += 1
      return
    }
    let isTightened = present == nil && vault.history.isTightened(item.row.uuid)
    lines.append(
      Line(
        change: present == nil ? .deleted : .changed, uuid: item.row.uuid, item: present?.id ?? item.row.id,
        home: present?.collection ?? item.row.collection, collection: past.label(of: item.collection),
        label: ArchiveReport.Line.cut(item.opened?.metadata.label ?? ""), accessibility: item.accessibility,
        obstacle: item.obstacle ?? (isTightened ? OpenedGeneration.tightened : nil)))
  }

  private func lookForNew(_ id: Int64) throws(VaultError) {
    guard let row = try vault.database.reading({ store throws(VaultError) in try store.item(id) }),
      try past.store.item(uuid: row.uuid) == nil
    else { return }
    let info = try vault.reader.info(ofItem: id)
    lines.append(
      Line(
        change: .new, uuid: row.uuid, item: id, home: row.collection,
        collection: (try? vault.collections.info(of: row.collection).label) ?? "",
        label: ArchiveReport.Line.cut(info.metadata?.label ?? ""), accessibility: info.accessibility, obstacle: nil))
  }
}

extension ItemRow {
  /// Whether both rows are the same version of an item, even if its key is wrapped in another way.
  func hasContent(of other: ItemRow) -> Bool {
    secret == other.secret && metadata == other.metadata && access == other.access && tokens == other.tokens
  }
}
