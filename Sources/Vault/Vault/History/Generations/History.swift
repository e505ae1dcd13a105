import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySQLite

/// The generations of a vault: copies of its database in a folder beside it, made while no request waits, thinned, and erased.
///
/// A generation gets its final file name only after its whole content is on the disk and its rows were verified. If a generation
/// fails, the vault continues without it, and ``problem`` says why.
public final class History: TighteningObserver {
  /// The folder's name in the vault's own.
  public static let folderName = KeybagFile.generations
  /// The least time between two generations, in milliseconds.
  static let interval = 3600 * 1000
  /// Bytes that must stay free on the disk after a generation is made, in addition to the size of the database.
  static let usualSpareRoom = 32 << 20
  /// The free space that must stay when items are removed from a generation, in bytes. It is less than usual, because the items
  /// must be removed soon.
  static let leastRoom = 4 << 20
  /// The wait after a failed removal of items, in milliseconds.
  static let pause = 600 * 1000
  /// The time limit of a step, in milliseconds.
  static let stepTime = 10
  /// The first number that is not valid for a generation. With a generation each hour, a vault would reach it after 240,000 years.
  static let numberLimit: UInt32 = 1 << 31

  let database: VaultDatabase
  let home: String
  let owner: uid_t
  /// Which generations are kept.
  public var policy = HistoryPolicy()
  /// See ``usualSpareRoom``.
  var spareRoom = History.usualSpareRoom
  /// The time for which one step copies, in milliseconds.
  var copyTime = History.stepTime
  /// Why the last generation was not made; nil if that generation was made.
  public private(set) var problem: Reason?
  private var stage = Stage.resting
  /// The time at which the history last checked whether to make a generation, by ``Process.sinceBoot``; nil before the first check.
  private var lookedAt: Int?
  /// The number of changes of the database at that check.
  private var changesSeen: Int?
  /// The time at which a generation was last removed for its age alone, by the same clock.
  private var expiredAt: Int?
  private var erasure: HistoryErasure?
  /// Whether somebody asked for a generation now, even if the last generation is new.
  public private(set) var isWanted = false
  /// Items that are better protected now than in the generations. The generations must lose them, and until then no such item can
  /// be restored.
  private var tightened: Set<[UInt8]> = []
  /// Removes the items of ``tightened`` that were known when the removal began.
  private var loosening: HistoryForgetting?
  /// The time at which this removal last failed, by ``Process.sinceBoot``.
  private var failedToLoosenAt: Int?
  /// The removal that a user asked for and that is under way. Two removals at once would undo each other, so the second removal
  /// waits for the first.
  private weak var asked: HistoryForgetting?
  /// Whether the unfinished files of former processes have been removed.
  private var isTidy = false
  /// Whether all generations were searched for items like those of ``tightened``. A former process may have ended before it removed
  /// them.
  private var isLookedThrough = false
  /// Whether a generation that cannot be read keeps some of the ``tightened`` items.
  private var isStuck = false
  /// The time: in seconds since 1970, and in milliseconds since the machine started.
  var clock: () -> (time: UInt64, uptime: Int) = { (Process.time, Process.sinceBoot) }

  private enum Stage {
    case resting
    case comparing(HistoryDifference)
    case copying(HistoryDraft)
    /// A finished draft, and the newest key epoch at its moment.
    case checking(HistoryDraft, Verification, epoch: UInt32)
  }

  init(_ database: VaultDatabase, home: String, owner: uid_t) {
    (self.database, self.home, self.owner) = (database, home, owner)
  }

  // MARK: - files

  var path: String { KeybagFile.folderPath(home: home) + "/" + History.folderName }

  /// Opens the folder.
  func folder() throws(PosixError) -> Folder { try Folder(path: path, owner: owner) }

  /// The existing generations, the newest first, readable or not.
  public var generations: [PastGeneration] {
    guard !home.isEmpty, let folder = try? folder() else { return [] }
    return generations(in: folder)
  }

  private func generations(in folder: borrowing Folder) -> [PastGeneration] {
    let number = folder.number
    let found = ((try? folder.names()) ?? []).compactMap { name -> PastGeneration? in
      var status = stat()
      guard fstatat(number, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == S_IFREG,
        status.st_uid == owner
      else { return nil }
      return PastGeneration(name: name, size: Int(status.st_size))
    }
    return found.sorted { $0.number > $1.number }
  }

  /// The rows of a generation.
  func open(_ generation: PastGeneration, vault: [UInt8]) throws(VaultError) -> Store {
    try Store(path: path + "/" + generation.name, vault: vault, mode: .unchanging)
  }

  /// Removes a generation. The generation's name is removed at once, its content when ``step(epoch:mayMake:)`` has overwritten
  /// the file.
  ///
  /// Does not wait for the disk.
  private func remove(_ generation: PastGeneration, in folder: borrowing Folder) throws(PosixError) {
    try folder.move(generation.name, to: HistoryErasure.freeName(for: generation.name, in: folder))
  }

  /// Removes all generations, because their items open with less than the vault requires from now on. The next generation is
  /// made as soon as that is allowed.
  func removeAll() throws(VaultError) {
    rest()
    loosening = nil
    try removeGenerations(before: nil)
    (lookedAt, changesSeen) = (nil, nil)
  }

  /// Removes the generations from before a key epoch, or all generations, and also their unfinished copies without some items.
  private func removeGenerations(before epoch: UInt32?) throws(VaultError) {
    var failure: VaultError?
    do throws(VaultError) { try dropForgetting(before: epoch) } catch { failure = error }
    try remove(generations.filter { one in epoch.map { one.epoch < $0 } ?? true })
    if let failure { throw failure }
  }

  /// Removes the unfinished copy of a generation before `epoch`, from this process or from a former one.
  private func dropForgetting(before epoch: UInt32?) throws(VaultError) {
    for one in [loosening, asked] { one?.drop(before: epoch) }
    let isInUse = [loosening, asked].contains { $0?.hasDraft ?? false }
    let name = HistoryForgetting.draftName
    guard !isInUse, let folder = try? folder(), folder.contains(name) else { return }
    HistoryDraft.remove(name, in: folder)
    guard !folder.contains(name) else { throw .unavailable(.of(.generations, .generationStays(name))) }
  }

  // MARK: - items that are better protected now

  /// Notes that an item must be removed from all generations. From now on it cannot be restored from them.
  func tighten(_ uuid: [UInt8]) {
    guard !home.isEmpty else { return }
    // The copy under way may have the item in its former state.
    rest()
    tightened.insert(uuid)
    isStuck = false
  }

  /// Whether an item is better protected than in the generations, or was so when it was deleted.
  func isTightened(_ uuid: [UInt8]) -> Bool { tightened.contains(uuid) }

  /// Does a small piece of the removal of items that are better protected now.
  ///
  /// - Returns: whether there is more to do.
  private func loosen(_ store: Store) throws(VaultError) -> Bool {
    guard let loosening else {
      guard !tightened.isEmpty || !isLookedThrough else { return false }
      asked?.drop()
      loosening = HistoryForgetting(self, vault: store.vault, items: tightened, weakerThan: store)
      return true
    }
    do throws(VaultError) {
      let hasMore = try loosening.work()
      // The items that the removal found cannot be restored either.
      tightened.formUnion(loosening.items)
      if hasMore { return true }
    } catch {
      (self.loosening, failedToLoosenAt) = (nil, clock().uptime)
      throw error
    }
    (self.loosening, isLookedThrough) = (nil, true)
    // Some items could not be compared. They are compared the next time that the vault is opened.
    if !loosening.hasComparedAll { isStuck = true }
    // A generation that cannot be read may have such items, and may become readable. So these items cannot be restored until this
    // process ends. If the removal itself found an item, the generations that it searched before may contain the item. So the item
    // stays in the set for another removal.
    if loosening.unreadable.isEmpty { tightened.subtract(loosening.given) } else { isStuck = true }
    return !tightened.isEmpty && !isStuck
  }

  /// Does a small piece of the removal of items that are better protected now. It comes before removals that a user asked for, so
  /// that no client can delay it.
  ///
  /// - Returns: whether there is more to do first.
  func loosenFirst(for one: HistoryForgetting) -> Bool {
    guard asked === one, mustLoosen, let store = database.store else { return false }
    // After a failure, this removal waits, and the one that the user asked for continues.
    do throws(VaultError) { return try loosen(store) } catch { return false }
  }

  /// Begins to remove the items with these uuids from every generation.
  public func forgetEverywhere(_ items: [[UInt8]]) throws(VaultError) -> HistoryForgetting {
    // The copy under way may have these items.
    rest()
    asked?.drop()
    let forgetting = HistoryForgetting(self, vault: try database.ready().vault, items: Set(items))
    asked = forgetting
    return forgetting
  }

  // MARK: - work

  /// Asks for a generation now. ``isWanted`` ends when a generation was made, when nothing changed since the last generation, and
  /// when none can be made: ``problem`` says why.
  public func want() {
    // The copy under way shows an earlier moment.
    rest()
    (isWanted, changesSeen, problem) = (true, nil, nil)
  }

  /// Withdraws that request.
  public func wantNone() { isWanted = false }

  /// Ends the work under way. Called when the database is closed, and if the copy may not become a generation.
  func rest() {
    guard case .resting = stage else {
      // The look was noted when the copy was whole. If the note stayed, the next copy would wait for an hour and for another
      // change.
      if case .checking = stage { (lookedAt, changesSeen) = (nil, nil) }
      stage = .resting
      if let folder = try? folder() { HistoryDraft.remove(HistoryDraft.newName, in: folder) }
      return
    }
  }

  /// Ends the comparison of the generations with the vault's database, because the database is closed. The next open database is
  /// compared from the beginning.
  func leaveVault() {
    rest()
    (loosening, isLookedThrough, isStuck) = (nil, false, false)
  }

  /// Leaves the vault, and forgets the observations of the database as well.
  func forget() {
    leaveVault()
    (lookedAt, changesSeen, problem, erasure, isWanted) = (nil, nil, nil, nil, false)
    tightened = []
    asked?.drop()
    (asked, failedToLoosenAt, isTidy) = (nil, nil, false)
  }

  /// Whether a step has anything to do: a generation to make, to finish, or to remove.
  ///
  /// - Parameters:
  ///   - epoch: the newest key epoch.
  ///   - mayMake: whether the vault's present state is worth keeping.
  func hasWork(epoch: UInt32, mayMake: Bool) -> Bool {
    guard !home.isEmpty, let store = database.store else { return false }
    if case .resting = stage {} else { return true }
    if erasure != nil || mustLoosen { return true }
    let present = generations
    if present.contains(where: { $0.epoch < epoch }) && mayMake { return true }
    if !removals(of: present).isEmpty || hasRemnants { return true }
    return mayMake && isDue(present, store)
  }

  private var mustLoosen: Bool {
    if let failedToLoosenAt, clock().uptime - failedToLoosenAt < History.pause { return false }
    return tightened.isEmpty || isStuck ? !isLookedThrough && !generations.isEmpty : true
  }

  private var hasRemnants: Bool {
    guard let folder = try? folder(), let names = try? folder.names() else { return false }
    return names.contains { $0.hasSuffix(HistoryErasure.suffix) || !isTidy && $0.hasSuffix(HistoryDraft.suffix) }
  }

  /// Removes the files of a process that ended in the middle.
  private func tidy() {
    guard let folder = try? folder() else { return }
    HistoryDraft.remove(HistoryDraft.newName, in: folder)
    // The removal that is under way for the user may be using its file.
    guard loosening == nil, asked == nil else { return }
    HistoryDraft.remove(HistoryForgetting.draftName, in: folder)
    isTidy = true
  }

  private func isDue(_ present: [PastGeneration], _ store: Store) -> Bool {
    guard policy.isOn, changesSeen != store.changes else { return false }
    if isWanted { return true }
    if let lookedAt, clock().uptime - lookedAt < History.interval { return false }
    let now = clock().time
    guard let newest = present.first, newest.time <= now else { return true }
    return now - newest.time >= UInt64(History.interval / 1000)
  }

  private func removals(of present: [PastGeneration]) -> [PastGeneration] {
    let mayExpire = expiredAt.map { clock().uptime - $0 >= History.interval } ?? true
    return HistoryThinning(policy: policy, now: clock().time, databaseSize: databaseSize)
      .removals(of: present, expiring: mayExpire ? 1 : 0)
  }

  private var databaseSize: Int {
    var status = stat()
    guard stat(KeybagFile.folderPath(home: home) + "/" + KeybagFile.database, &status) == 0 else { return 0 }
    return min(Int(status.st_size), PastGeneration.sizeLimit)
  }

  /// One small piece of the work.
  ///
  /// - Parameters: as ``hasWork(epoch:mayMake:)``.
  /// - Returns: whether there is more to do now.
  func step(epoch: UInt32, mayMake: Bool) -> Bool {
    do throws(VaultError) { return try goOn(epoch: epoch, mayMake: mayMake) } catch {
      rest()
      // Tried again in an hour, and not at once.
      noteLook()
      isWanted = false
      problem = error.reason
      // Generations that are too many or too old are still removed.
      if mayMake { try? removeGenerations(before: epoch) }
      return false
    }
  }

  private func noteLook() { (lookedAt, changesSeen) = (clock().uptime, database.store?.changes) }

  private func goOn(epoch: UInt32, mayMake: Bool) throws(VaultError) -> Bool {
    guard !home.isEmpty, let store = database.store else { return false }
    switch stage {
    case .resting: return try begin(store, epoch: epoch, mayMake: mayMake)
    case .comparing(var walk):
      let isDifferent: Bool?
      // If one generation cannot be read, others are still made.
      do throws(VaultError) { isDifferent = try walk.step() } catch { isDifferent = true }
      switch isDifferent {
      case nil: stage = .comparing(walk)
      case false?:
        stage = .resting
        isWanted = false
        noteLook()
      case true?: try beginCopy(store)
      }
    case .copying(let draft):
      guard mayMake else {
        rest()
        return false
      }
      if try draft.step(for: copyTime) { return true }
      noteLook()
      let copied = try Store(path: draft.path, vault: store.vault, mode: .unchanging)
      stage = .checking(draft, Verification(copied, structure: false), epoch: epoch)
    case .checking(let draft, var walk, let copied):
      let hasMore = try walk.step()
      stage = .checking(draft, walk, epoch: copied)
      if !hasMore { try finish(draft, epoch: copied) }
    }
    return true
  }

  private func begin(_ store: Store, epoch: UInt32, mayMake: Bool) throws(VaultError) -> Bool {
    if !isTidy { tidy() }
    if let erasure {
      if !erasure.step() { self.erasure = nil }
      return true
    }
    // Erasing frees space, so it comes before all work that takes space.
    if let folder = try? folder(), let next = HistoryErasure.next(in: folder) {
      erasure = next
      return true
    }
    if mustLoosen {
      do throws(VaultError) { if try loosen(store) { return true } } catch {
        // Generations that are not kept any more are still removed, and their removal makes room.
        if try thin(generations) {
          failedToLoosenAt = nil
          return true
        }
        guard hasRemnants else { throw error }
        noteLook()
        problem = error.reason
        return true
      }
    }
    let present = generations
    if mayMake, policy.isOn, present.contains(where: { $0.epoch < epoch }) {
      // A generation of the newest epoch already exists if the former generations could not be removed.
      let hasNewer = present.first.map { $0.epoch >= epoch } ?? false
      if hasNewer { try removeGenerations(before: epoch) } else { try beginCopy(store) }
      return true
    }
    if mayMake, isDue(present, store) {
      guard let newest = present.first, let past = try? open(newest, vault: store.vault) else {
        try beginCopy(store)
        return true
      }
      stage = .comparing(HistoryDifference(store, past))
      return true
    }
    return try thin(present)
  }

  private func beginCopy(_ store: Store) throws(VaultError) {
    let folder: Folder
    do throws(PosixError) {
      folder = try Folder.create(KeybagFile.folderNames + [History.folderName], below: home, owner: owner)
    } catch { throw VaultError(error, .generationsFolder) }
    // Programs' writes take precedence over copies.
    let needed = 2 * databaseSize + spareRoom
    guard folder.freeSpace > needed else {
      throw .lacksRoom(of: needed)
    }
    stage = .copying(try HistoryDraft(HistoryDraft.newName, of: store.database, in: folder, path: path))
  }

  private func finish(_ draft: HistoryDraft, epoch: UInt32) throws(VaultError) {
    let folder: Folder
    do throws(PosixError) { folder = try self.folder() } catch {
      throw VaultError(error, .generationsFolder)
    }
    let present = generations(in: folder)
    let last = present.first { $0.number < History.numberLimit }?.number ?? 0
    let made = PastGeneration(number: last + 1, time: clock().time, epoch: epoch, size: draft.size)
    try draft.finish(as: made.name, in: folder, replacing: false)
    (stage, problem, isWanted) = (.resting, nil, false)
    try removeGenerations(before: epoch)
    // Another program made these high numbers. A new generation would never be the newest after them.
    try remove(present.filter { $0.number >= History.numberLimit })
  }

  private func remove(_ unwanted: [PastGeneration]) throws(VaultError) {
    guard !unwanted.isEmpty else { return }
    do throws(PosixError) {
      let folder = try folder()
      var failure: PosixError?
      for one in unwanted { do throws(PosixError) { try remove(one, in: folder) } catch { failure = error } }
      try folder.synchronize()
      if let failure { throw failure }
    } catch { throw VaultError(error, .generations) }
  }

  /// Removes the generations that the policy does not keep. Their files are overwritten later.
  ///
  /// - Returns: whether there is more to do.
  private func thin(_ present: [PastGeneration]) throws(VaultError) -> Bool {
    let unwanted = removals(of: present)
    if !unwanted.isEmpty {
      expiredAt = clock().uptime
      try remove(unwanted)
    }
    return !unwanted.isEmpty
  }
}
