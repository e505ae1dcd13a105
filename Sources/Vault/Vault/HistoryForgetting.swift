import Glibc
import LatchkeyPosix
import LatchkeySQLite

/// The end of some items in every generation. Each generation that has one of them is copied without it, and the copy takes its
/// place in one step; then the former file is overwritten. After an interruption a generation is as it was, or without them.
public final class HistoryForgetting {
  static let draftName = "forgetting" + HistoryDraft.suffix

  private let history: History
  private let vault: [UInt8]
  private let items: Set<[UInt8]>
  private var waiting: [PastGeneration]
  private var draft: (of: PastGeneration, HistoryDraft)?
  private var erasure: HistoryErasure?
  /// How many generations had any of them so far.
  public private(set) var changed = 0
  /// The generations that cannot be read: they may have them still.
  public private(set) var unreadable: [UInt32] = []
  /// How many generations are still to be looked at.
  public var left: Int { waiting.count + (draft == nil ? 0 : 1) }

  init(_ history: History, vault: [UInt8], items: [[UInt8]]) {
    (self.history, self.vault, self.items) = (history, vault, Set(items))
    waiting = history.generations
  }

  /// Works for a moment.
  ///
  /// - Returns: whether there is more to do. Where not, the items are gone from every generation, and that is on the disk.
  /// - Throws: why it cannot go on; begun again it does what is left.
  public func step() throws(VaultError) -> Bool {
    let folder: Folder
    do throws(PosixError) { folder = try history.folder() } catch {
      // No generation was ever made.
      guard error.code != ENOENT else { return false }
      throw VaultError(error, "the folder of the generations")
    }
    if let (past, draft) = draft {
      do throws(VaultError) {
        if try draft.step(for: History.stepTime) { return true }
        try finish(draft, past, folder)
      } catch {
        // One bad block of one generation must not keep the items in all others.
        guard Self.isOfOneFile(error) else { throw error }
        HistoryDraft.remove(Self.draftName, in: folder)
        unreadable.append(past.number)
      }
      self.draft = nil
      return true
    }
    if let past = waiting.popLast() {
      guard folder.contains(past.name) else { return true }
      // A damaged one must not keep the items in all others.
      guard let store = try? history.open(past, vault: vault), let isThere = try? has(store) else {
        unreadable.append(past.number)
        return true
      }
      if isThere {
        draft = (past, try HistoryDraft(Self.draftName, of: store.database, in: folder, path: history.path))
      }
      return true
    }
    if let erasure, erasure.step() { return true }
    erasure = HistoryErasure.next(in: folder)
    return erasure != nil
  }

  private static func isOfOneFile(_ error: VaultError) -> Bool {
    switch error {
    case .damaged, .unavailable: true
    default: false
    }
  }

  private func has(_ store: Store) throws(VaultError) -> Bool {
    try !store.items(uuids: items).isEmpty
  }

  private func finish(_ draft: HistoryDraft, _ past: PastGeneration, _ folder: borrowing Folder) throws(VaultError) {
    try forget(in: draft.path)
    do throws(PosixError) { try folder.keepForErasing(past.name) } catch { throw VaultError(error, "a generation") }
    try draft.finish(as: past.name, in: folder, replacing: true)
    changed += 1
  }

  /// Deletes the rows, and leaves one file with everything in its place.
  private func forget(in path: String) throws(VaultError) {
    let store = try Store(path: path, vault: vault)
    do throws(VaultError) { try delete(from: store) } catch {
      // A damaged index does not have what is to be deleted.
      try VaultError.store { () throws(SQLiteError) in try store.database.execute("REINDEX") }
      try delete(from: store)
    }
    try store.emptyLog()
    store.database.trust()
  }

  private func delete(from store: Store) throws(VaultError) {
    let items = items
    try store.transaction { () throws(VaultError) in
      for id in try store.items(uuids: items) { _ = try store.deleteItem(id) }
    }
  }
}
