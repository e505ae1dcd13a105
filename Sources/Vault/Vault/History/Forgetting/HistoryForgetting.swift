import Glibc
import LatchkeyPosix

/// The removal of items from every generation: items that a user named, or items that are better protected now. First all
/// generations are searched. Then each generation with such an item is copied without the item, and the copy replaces it in one
/// step. Then the former file is overwritten. After an interruption a generation is as it was, or without these items.
///
/// This needs free space for one more generation and no more, because the former file is erased before the next copy begins.
public final class HistoryForgetting {
  static let draftName = "forgetting" + HistoryDraft.suffix

  private enum Stage {
    case choosing
    case looking(PastGeneration, HistoryItemWalk)
    case found(PastGeneration, [Int64])
    case copying(PastGeneration, HistoryDraft, [Int64])
    case deleting(PastGeneration, HistoryDraft, HistoryDeletion)

    /// The generation under work.
    var generation: PastGeneration? {
      switch self {
      case .choosing: nil
      case .looking(let past, _), .found(let past, _), .copying(let past, _, _), .deleting(let past, _, _): past
      }
    }
  }

  private let history: History
  private let vault: [UInt8]
  /// The given items, by their uuids. At the end no generation has them.
  let given: Set<[UInt8]>
  /// The given items, and the items that the walks found. A generation that was searched before may still have a found item.
  private(set) var items: Set<[UInt8]>
  /// Whether all items of the vault could be compared.
  private(set) var hasComparedAll = true
  /// The vault whose better protected items are also removed; nil for the given items alone.
  private let present: Store?
  /// The generations that were not looked through yet.
  private var waiting: [PastGeneration]
  /// The generations that have such items, and the numbers of these in each.
  private var affected: [(generation: PastGeneration, items: [Int64])] = []
  /// The generations that have such items, but no free space for their copies.
  private var withoutRoom: [PastGeneration] = []
  private var stage = Stage.choosing
  private var erasure: HistoryErasure?
  /// The number of generations from which such items were removed so far.
  public private(set) var changed = 0
  /// The generations that cannot be read. They may still have such items.
  public private(set) var unreadable: [UInt32] = []
  /// The number of generations that are left.
  public var left: Int { waiting.count + affected.count + withoutRoom.count + (stage.generation == nil ? 0 : 1) }

  init(_ history: History, vault: [UInt8], items: Set<[UInt8]>, weakerThan present: Store? = nil) {
    (self.history, self.vault, self.present) = (history, vault, present)
    (given, self.items) = (items, items)
    waiting = history.generations
  }

  deinit { drop() }

  /// Works for a moment.
  ///
  /// - Returns: whether there is more to do. If not, no generation has the items any more, and this state is on the disk.
  /// - Throws: the reason why the removal cannot continue. A new attempt continues from there.
  public func step() throws(VaultError) -> Bool {
    if history.loosenFirst(for: self) { return true }
    return try work()
  }

  /// Does a step of the removal, without the erasing that comes first.
  func work() throws(VaultError) -> Bool {
    let folder: Folder
    do throws(PosixError) { folder = try history.folder() } catch {
      // No generation was ever made.
      guard error.code != ENOENT else { return false }
      throw VaultError(error, .generationsFolder)
    }
    do throws(VaultError) { return try goOn(folder) } catch {
      let past = stage.generation
      drop()
      // One bad block of one generation must not keep the items in all others.
      guard let past, Self.isOfOneFile(error) else { throw error }
      waiting.removeAll { $0 == past }
      unreadable.append(past.number)
      return true
    }
  }

  /// Drops the copy under way. The copied generation is looked at again later.
  ///
  /// - Parameter epoch: a copy of a generation of this key epoch or a later one stays.
  func drop(before epoch: UInt32? = nil) {
    guard let past = stage.generation, epoch.map({ past.epoch < $0 }) ?? true else { return }
    stage = .choosing
    waiting.append(past)
    if let folder = try? history.folder() { HistoryDraft.remove(Self.draftName, in: folder) }
  }

  /// Whether a copy is being made.
  var hasDraft: Bool {
    switch stage {
    case .choosing, .looking, .found: false
    case .copying, .deleting: true
    }
  }

  private static func isOfOneFile(_ error: VaultError) -> Bool {
    switch error {
    case .damaged, .unavailable: true
    default: false
    }
  }

  private func goOn(_ folder: borrowing Folder) throws(VaultError) -> Bool {
    switch stage {
    case .choosing: return try choose(folder)
    case .looking(let past, var walk):
      let hasMore = try walk.step()
      items.formUnion(walk.weaker)
      if walk.isPresentUnreadable { hasComparedAll = false }
      stage = hasMore ? .looking(past, walk) : .choosing
      if !hasMore, !walk.found.isEmpty { affected.append((past, walk.found)) }
    case .found(let past, let found):
      guard hasRoom(for: past, folder) else {
        stage = .choosing
        withoutRoom.append(past)
        return true
      }
      guard let store = open(past, folder) else {
        stage = .choosing
        return true
      }
      let draft = try HistoryDraft(Self.draftName, of: store.database, in: folder, path: history.path)
      stage = .copying(past, draft, found)
    case .copying(let past, let draft, let found):
      guard try !draft.step(for: History.stepTime) else { return true }
      stage = .deleting(past, draft, try HistoryDeletion(of: found, from: draft.path, vault: vault))
    case .deleting(let past, let draft, let deletion):
      guard try !deletion.step() else {
        draft.beginWriting()
        return true
      }
      try finish(draft, past, folder)
      stage = .choosing
    }
    return true
  }

  private func choose(_ folder: borrowing Folder) throws(VaultError) -> Bool {
    if let past = waiting.popLast() {
      if let store = open(past, folder) { stage = .looking(past, HistoryItemWalk(store, items, weakerThan: present)) }
      return true
    }
    if let erasure {
      if !erasure.step() { self.erasure = nil }
      return true
    }
    // The replaced file is erased before the next copy takes room.
    if let other = try? history.folder(), let next = HistoryErasure.next(in: other) {
      erasure = next
      return true
    }
    guard let next = affected.first else {
      if withoutRoom.isEmpty { return false }
      throw VaultError.lacksRoom(of: Self.room(for: withoutRoom.map(\.size).min() ?? 0, history))
    }
    affected.removeFirst()
    stage = .found(next.generation, next.items)
    return true
  }

  /// Opens a generation; nil if it was removed meanwhile, or cannot be read. A damaged one must not keep the items in all others.
  private func open(_ past: PastGeneration, _ folder: borrowing Folder) -> Store? {
    guard folder.contains(past.name) else { return nil }
    let store = try? history.open(past, vault: vault)
    if store == nil { unreadable.append(past.number) }
    return store
  }

  /// Whether the disk has room for a copy of the generation, and for the copy's log.
  private func hasRoom(for past: PastGeneration, _ folder: borrowing Folder) -> Bool {
    folder.freeSpace > Self.room(for: past.size, history)
  }

  /// The number of bytes that must be free for the copy of a generation of `size` bytes.
  private static func room(for size: Int, _ history: History) -> Int {
    2 * size + min(history.spareRoom, History.leastRoom)
  }

  private func finish(_ draft: HistoryDraft, _ past: PastGeneration, _ folder: borrowing Folder) throws(VaultError) {
    // The generation was removed meanwhile, so its copy is removed, too.
    guard folder.contains(past.name) else { return HistoryDraft.remove(Self.draftName, in: folder) }
    let remnant = HistoryErasure.freeName(for: past.name, in: folder)
    do throws(PosixError) {
      try folder.link(past.name, to: remnant)
      guard folder.areSame(past.name, remnant) else { throw PosixError("link", code: EEXIST) }
      try folder.synchronize()
    } catch { throw VaultError(error, .generation) }
    try draft.finish(as: past.name, in: folder, replacing: true)
    changed += 1
  }
}
