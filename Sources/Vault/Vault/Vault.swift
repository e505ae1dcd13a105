import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySodium

/// One user's vault: the files, and the keys that are in memory now.
///
/// It knows no session and no bus. Its owner says when to ``unlock(_:former:opening:liftingLocks:of:mayCreate:)``, to
/// ``lock()`` (screen locked) and to ``seal()`` (session ended); every call then answers by the keys that are there.
///
/// A vault whose files are damaged is never written to. It says so in ``problems`` and by ``VaultError/damaged(_:)``.
public final class Vault {
  /// Which tier keys are taken over from those that are given.
  public enum Opening: Sendable {
    /// Tier key C alone: the session is past its first unlock, but the screen is locked.
    case session
    /// Both.
    case everything
  }

  /// Reads items.
  public let reader: ItemReader
  /// Creates, changes and deletes items.
  public let writer: ItemWriter
  /// The outcomes of requests for items that require something.
  public let accessLog: AccessLog
  /// Former states of the vault.
  public let history: History
  let database = VaultDatabase()
  let keys = VaultKeys()
  /// Hears of the state of the vault's files.
  public weak var delegate: (any VaultDelegate)? {
    didSet { database.delegate = delegate }
  }

  let home: String
  let owner: uid_t
  let machine: [UInt8]?
  /// Asks the system service for its device key; nil if there is none.
  let service: DeviceKeyService
  /// The name of the database's file.
  let databaseName: String
  /// The healing of the database; nil after the end of the session in which it was announced.
  public internal(set) var healing: Healing?
  /// The healing of the keybag; nil after the end of the session in which it was announced.
  public internal(set) var keybagHealing: KeybagHealing?
  /// Whether keys came since ``forgetOlderFiles()``.
  var wasUnlocked = false
  /// Why the database could not be healed.
  var healingProblem: Reason?
  /// Whether a healed database waits for its place, so that `vault.db` is not opened.
  var isHealingUnfinished = false
  /// The generations that there were when it could not be healed.
  var failedGenerations: [PastGeneration]?

  /// The keybag, as far as it can be read.
  public private(set) var keybag: Keybag? {
    didSet { keys.loginHasPassword = !isPasswordless }
  }
  private(set) var keybagProblem: Reason?
  /// Whether an unlock left something out because the device key or the disk could not be used: ``meetDevice()`` does it.
  var isUnsettled = false
  /// Why a vault without a password does not open; the line names the file.
  var passwordlessProblem: Reason?
  /// Why it is not known whether the files are older copies.
  var noteProblem: Reason?
  /// How often that was broken off for other work since keys came.
  var notesBrokenOff = 0
  /// The key that seals the database's generation, while the note of the generations waits; nil if none waits.
  var waitingNote: HeldKey?

  var device: (any DeviceKey)?
  /// Whether it is known that no key in a file is left over from before the service had it.
  var movedKeyIsGone = false
  /// The key epochs of the keybag whose keys are in memory.
  private var heldEpochs: [TierEpoch] = []
  /// The newest key epoch.
  var epoch: UInt32 = 1
  /// The key epoch that the index key is wrapped under.
  var indexEpoch: UInt32 = 1
  /// Items of whenPasscodeSetThisDeviceOnly that were destroyed; see ``takeDestroyed()``.
  var destroyed: [FoundItem] = []
  /// Whether this program had the device erase what they depended on, and gave it nothing new since.
  var passcodeItemsAreDead = false
  /// The database's own generation, as the last keys found it.
  var generation: UInt64 = 0
  /// In the place of which files an older copy was found; until ``forgetOlderFiles()``.
  public internal(set) var olderFiles: OlderFiles = []
  /// Which of them were found at a login without a password, after which they are remembered as they were.
  var comparedFiles: OlderFiles = []
  /// The highest number that an item had in a vault that was put aside, or a random one where that is unknown; 0 for none. Those
  /// of the next one come after it, so that no object path that somebody still has names another item.
  var lastItemAside: Int64 = 0

  /// The vault below `home`, whose files `owner` owns; nothing of it need be there.
  ///
  /// - Parameters:
  ///   - machine: 16 bytes of this machine's identity, or nil.
  ///   - service: asks for the device key of the system service.
  public convenience init(
    home: String, owner: uid_t, machine: [UInt8]?, service: @escaping DeviceKeyService = { nil }
  ) {
    self.init(home: home, owner: owner, machine: machine, service: service, databaseName: KeybagFile.database)
  }

  /// The same with a database of another name.
  init(home: String, owner: uid_t, machine: [UInt8]?, service: @escaping DeviceKeyService, databaseName: String) {
    self.home = home
    self.owner = owner
    self.machine = machine
    self.service = service
    self.databaseName = databaseName
    history = History(database, home: home, owner: owner)
    (reader, writer, accessLog) = Vault.parts(database, keys, history)
    refresh()
  }

  /// A vault in memory only, unlocked for good, with one collection.
  ///
  /// - Parameter last: the number behind which those of its items begin.
  public init(inMemoryWithLabel label: String, itemsAfter last: Int64 = 0) throws(VaultError) {
    (home, owner, machine, service, databaseName) = ("", 0, nil, { nil }, "")
    history = History(database, home: home, owner: owner)
    (reader, writer, accessLog) = Vault.parts(database, keys, history)
    do {
      let tiers = try TierKeys.random()
      try fill(nil, vault: Sodium.randomBytes(16), tiers: tiers, label: label, aliases: [])
      if last > 0 { try database.writing { store throws(VaultError) in try store.beginItems(after: last) } }
      try loadCollections()
      try takeOver(tiers.session, unlocked: try chain(tiers.unlocked), former: [], liftingLocksOf: [])
      reader.isUnused = true
    } catch let error as VaultError { throw error } catch { throw .outOfMemory }
  }

  private static func parts(
    _ database: VaultDatabase, _ keys: VaultKeys, _ history: History
  ) -> (ItemReader, ItemWriter, AccessLog) {
    let reader = ItemReader(database, keys)
    return (reader, ItemWriter(database, keys, reader, observer: history), AccessLog(database, keys, reader))
  }

  // MARK: - files

  /// The folder of the vault.
  public var path: String { KeybagFile.folderPath(home: home) }

  /// The problems of the vault's files, each of which names the file.
  public var problems: [Reason] {
    var lines: [Reason] = []
    if let keybagProblem { lines.append(.of(.keybag, keybagProblem)) }
    if let passwordlessProblem { lines.append(passwordlessProblem) }
    if let problem = keys.deviceProblem { lines.append(problem) }
    if let noteProblem { lines.append(noteProblem) }
    if let healingProblem { lines.append(healingProblem) }
    if let problem = database.problem, problem != .notCreated { lines.append(problem.reason) }
    if let damage = database.damage { lines.append(damage) }
    if let absence = database.absence { lines.append(absence.reason) }
    // A keybag that cannot be read is why there is no store, too.
    return lines.enumerated().filter { !lines[..<$0.offset].contains($0.element) }.map(\.element)
  }

  /// Whether the vault should have a keybag, and none can be used.
  public var hasUnusableKeybag: Bool { keybag == nil && keybagProblem != nil }

  /// Whether the database is open, so that it is known what the vault holds.
  public var hasDatabase: Bool { database.store != nil }

  /// Looks at the files again, if they were missing or damaged. An open database stays as it is.
  public func refresh() { refresh(waiting: 0) }

  /// - Parameter time: how long to wait for another process that writes the vault's files, where healing is to be finished, in
  ///   milliseconds.
  private func refresh(waiting time: Int) {
    database.noteCut()
    guard database.store == nil || database.damage == nil else { return }
    let folder: Folder
    do { folder = try KeybagFile.folder(home: home, owner: owner) } catch {
      keybag = nil
      keybagProblem = error == .missing ? nil : error.reason
      database.problem = error == .missing ? .notCreated : .unavailable(.of(.folder, error.reason))
      return
    }
    let loaded = readKeybag(folder)
    // Healing that a crash interrupted goes on before anything is opened.
    var unfinished: VaultError?
    if database.store == nil, databaseName == KeybagFile.database, case .success = loaded {
      unfinished = finishHealing(folder, deadline: time)
      isHealingUnfinished = unfinished != nil
    }
    let hasDatabase = folder.contains(databaseName)
    do {
      let found = try loaded.get()
      // The author of that file does not have this session's keys, so the session stays with the keybag that its keys came
      // with.
      guard found.hasKeys(of: heldEpochs) else {
        keybagProblem = .keybag(.otherKeys)
        return
      }
      keybag = found
      keybagProblem = nil
    } catch {
      keybag = nil
      keybagProblem = error == .missing && !hasDatabase ? nil : error.reason
      if database.store == nil {
        database.problem = error == .missing && !hasDatabase ? .notCreated : .damaged(.of(.keybag, error.reason))
      }
      return
    }
    if let store = database.store, keybag?.vault != store.vault {
      keybag = nil
      keybagProblem = .keybag(.otherDatabase)
    }
    guard database.store == nil, let keybag else { return }
    if let unfinished {
      database.problem = unfinished
      return
    }
    guard hasDatabase else {
      // Between creation and the first unlock there is no database yet; later, a missing one is a loss.
      let isNew = keybag.awaitsDatabase && history.generations.isEmpty
      database.problem = isNew ? .notCreated : .unavailable(.of(.database, .vault(.fileMissing)))
      return
    }
    openDatabase(folder)
  }

  func openDatabase(_ folder: borrowing Folder) {
    guard let keybag else { return }
    do {
      var header = [UInt8](repeating: 0, count: 100)
      do {
        _ = try header.withUnsafeMutableBufferPointer { buffer throws(PosixError) in
          try folder.read(databaseName, into: UnsafeMutableRawBufferPointer(buffer))
        }
      } catch { throw VaultError.unavailable(.of(.database, .verbatim(error.description))) }
      try Store.checkHeader(header)
      let store = try Store(path: path + "/" + databaseName, vault: keybag.vault)
      try adopt(store, folder: folder)
      database.problem = nil
    } catch let error as VaultError {
      database.problem = error
      // SQLite's words, "disk I/O error", are those of a broken disk. It needs a file beside the database even to read.
      if case .unavailable = error, folder.isReadOnly {
        database.problem = .unavailable(.of(.database, .vault(.readOnly)))
      }
      abandon()
    } catch {}
  }

  /// Opens what needs no tier key: the device's share, the index, the device's own classes.
  private func adopt(_ store: Store, folder: borrowing Folder) throws(VaultError) {
    database.open(store)
    try openDevice(folder, mayCreate: false)
    try loadCollections()
    nameCollections()
  }

  private func loadCollections() throws(VaultError) {
    guard let store = database.store else { return }
    keys.collections = []
    let rows = try store.collections()
    let classes = try store.classKeys()
    guard Set(classes.map(\.collection)).isSubset(of: rows.map(\.id)) else {
      throw .damaged(.of(.database, .vault(.classKeyAlone)))
    }
    for row in rows {
      let collection = try OpenCollection(row, classes: classes.filter { $0.collection == row.id })
      if !row.locked { try collection.open(share: keys.share, vault: store.vault) }
      keys.collections.append(collection)
    }
  }

  /// Drops the database, which was found damaged, and every key. The file stays as it is.
  private func abandon() {
    history.rest()
    database.abandon()
    forget()
  }

  /// Forgets all that is known of the files, as an object does that has just been made.
  func forgetFiles() {
    forget()
    database.forget()
    (keybag, keybagProblem) = (nil, nil)
    (device, keys.deviceProblem, passwordlessProblem, noteProblem) = (nil, nil, nil, nil)
    (movedKeyIsGone, passcodeItemsAreDead) = (false, false)
    (epoch, indexEpoch, generation, destroyed) = (1, 1, 0, [])
    (failedGenerations, keybagHealing, healing, isHealingUnfinished) = (nil, nil, nil, false)
    writer.forget()
    history.forget()
    accessLog.forget()
    forgetOlderFiles()
  }

  func forget() {
    history.rest()
    database.close()
    keys.forget()
    (heldEpochs, waitingNote, isUnsettled) = ([], nil, false)
  }

  /// Whether damage was found in the database.
  public var isDamaged: Bool { database.isDamaged }

  /// Whether the whole database was looked at since it was opened.
  public var isVerified: Bool { database.isVerified }

  /// Looks at a little more of the database. Damage becomes a line of ``problems``, and ends the walk.
  ///
  /// - Returns: whether there is more to look at.
  public func verifyStep() -> Bool { database.verifyStep() }

  /// To be called when the vault has been quiet for a moment: moves what was written to its place in the database and
  /// empties the log. A failure loses nothing; the next call tries again.
  public func settle() {
    if database.settle() { eraseMovedKey() }
  }

  // MARK: - keys

  /// Whether these are the keys of this vault's keybag.
  public func recognises(
    _ tiers: borrowing TierKeys, former: [FormerTiers] = []
  ) throws(KeybagError) -> Bool {
    guard let keybag else { throw .missing }
    guard try keybag.recognises(tiers) else { return false }
    return try keybag.recognises(former)
  }

  /// Whether ``unlock(_:former:opening:liftingLocks:of:mayCreate:)`` could use these keys, without taking anything over: the files
  /// can be used, and the keys open something of the database. A keybag alone proves nothing: it could have been put
  /// there together with keys of its own.
  public func check(
    _ tiers: borrowing TierKeys, former: [FormerTiers] = [], mayCreate: Bool
  ) throws(VaultError) {
    refresh(waiting: Vault.lockTime)
    guard let store = database.store else {
      if canHeal(tiers, former) { return }
      guard let keybag, database.problem == .notCreated, mayCreate || keybag.awaitsDatabase else {
        throw database.problem ?? .notCreated
      }
      return
    }
    do throws(VaultError) { _ = try openIndex(tiers.session, former, store) } catch {
      if canHeal(tiers, former) { return }
      if case .damaged = error { throw .unavailable(.vault(.notTogether)) }
      throw error
    }
  }

  /// Takes keys over into memory. They must be this vault's: ``recognises(_:)``.
  ///
  /// - Parameters:
  ///   - former: the keys of former key epochs that the keybag still has, oldest first. The keys that depend on them move to
  ///     the newest if everything is unlocked: a rotation begins, or goes on, here.
  ///   - liftingLocks: whether explicit locks of collections end. A login does that; an unlock of the screen does not.
  ///   - lockedExplicitly: which of them; nil for all.
  ///   - mayCreate: whether a missing database is made: only right after creation.
  public func unlock(
    _ tiers: borrowing TierKeys, former: [FormerTiers] = [], opening: Opening, liftingLocks: Bool,
    of lockedExplicitly: Set<Int64>? = nil, mayCreate: Bool
  ) throws(VaultError) {
    try check(tiers, former: former, mayCreate: mayCreate)
    // Behind a locked screen not all keys may be in memory.
    if opening == .everything { heal(tiers, former) }
    if database.store == nil, let keybag {
      guard database.problem == .notCreated else { throw database.problem ?? .notCreated }
      try create(keybag, tiers)
    }
    let lifted = liftingLocks ? lockedExplicitly ?? Set(collections) : []
    try takeOver(
      tiers.session, unlocked: opening == .everything ? try chain(tiers.unlocked) : nil, former: former,
      liftingLocksOf: lifted)
    if opening == .everything, liftingLocks, lockedExplicitly == nil || isPasswordless {
      try openDeletedCollections(tiers)
    }
  }

  func chain(_ tier: borrowing Key) throws(VaultError) -> KeyChain {
    let vault = try database.ready().vault
    do { return try KeyChain(tier: tier, vault: vault) } catch { throw .outOfMemory }
  }

  /// Takes keys over. A failure adds no key.
  ///
  /// - Parameters:
  ///   - unlocked: tier key A's chain; nil where only tier key C is taken over.
  ///   - notesGenerations: whether the files' generations are noted: the program that brings these keys has checked the whole
  ///     keybag.
  func takeOver(
    _ tier: borrowing Key, unlocked: KeyChain?, former: [FormerTiers], liftingLocksOf lifted: Set<Int64>,
    notesGenerations: Bool = true
  ) throws(VaultError) {
    let wasSealed = keys.chains.session == nil
    do throws(VaultError) {
      try takeOverAll(tier, unlocked: unlocked, former: former, liftingLocksOf: lifted)
    } catch {
      if wasSealed { seal() } else { lock() }
      throw error
    }
    wasUnlocked = true
    // Keys that are staged come twice.
    if notesGenerations, wasSealed || unlocked != nil { noteGenerations(tier) }
  }

  private func takeOverAll(
    _ tier: borrowing Key, unlocked: KeyChain?, former: [FormerTiers], liftingLocksOf lifted: Set<Int64>
  ) throws(VaultError) {
    let store = try database.ready()
    let opened: SealedIndex
    (opened, indexEpoch) = try openIndex(tier, former, store)
    let genuine = opened.index
    generation = opened.generation
    epoch = keybag?.epoch.number ?? 1
    if let index = keys.index, try !index.isSame(as: genuine) {
      // That row was made without the password. Items that its index did not find may exist all the same.
      database.note(.damaged(.of(.database, .vault(.foreignDeviceRow))))
    }
    keys.index = genuine
    nameCollections()
    isUnsettled = false
    try whereThereIsRoom { () throws(VaultError) in try settleDevice() }
    for collection in keys.collections where collection.row.locked && lifted.contains(collection.row.id) {
      try setExplicitLock(collection, false)
    }
    var session = try chain(tier)
    let opensEverything = unlocked != nil
    let lacksFormer = former.count + 1 < keybag?.epochs.count ?? 1
    var unlocked = unlocked
    var formerChains: [(epoch: UInt32, unlocked: KeyChain?, session: KeyChain)] = []
    for one in former.reversed() {
      formerChains.append(
        (one.number, opensEverything ? try chain(one.tiers.unlocked) : nil, try chain(one.tiers.session)))
    }
    for collection in keys.collections {
      do {
        var formerKeys: [OpenCollection.FormerKeys] = []
        for index in formerChains.indices where UInt64(formerChains[index].epoch) >= collection.row.epoch {
          while formerChains[index].session.ordinal < collection.row.ordinal {
            try formerChains[index].session.skip()
            try formerChains[index].unlocked?.skip()
          }
          formerKeys.append(
            OpenCollection.FormerKeys(
              epoch: formerChains[index].epoch,
              unlocked: try formerChains[index].unlocked?.next(uuid: collection.row.uuid),
              session: try formerChains[index].session.next(uuid: collection.row.uuid)))
        }
        while session.ordinal < collection.row.ordinal {
          try session.skip()
          try unlocked?.skip()
        }
        let sessionKey = try session.next(uuid: collection.row.uuid)
        let unlockedKey = try unlocked?.next(uuid: collection.row.uuid)
        if collection.row.locked { continue }
        try collection.take(
          unlocked: unlockedKey, session: sessionKey, epoch: epoch, former: formerKeys, lacksFormer: lacksFormer,
          share: keys.share, vault: store.vault)
      } catch let error as VaultError { throw error } catch { throw .outOfMemory }
    }
    // Both chains stand at the same collection, also when the last ones were deleted since the other was made.
    while let other = keys.chains.unlocked, unlocked == nil, session.ordinal < other.ordinal {
      do { try session.skip() } catch { throw .outOfMemory }
    }
    keys.chains = (unlocked ?? keys.chains.unlocked, session)
    keys.ownLocks.lift(of: lifted)
    heldEpochs = (keybag?.epochs ?? []).filter { one in
      one.number == epoch || former.contains { $0.number == one.number }
    }
    try accessLog.open(tier, former, newest: epoch, epochs: (keybag?.epochs ?? []).map(\.number))
    if opensEverything, database.damage == nil {
      try whereThereIsRoom { () throws(VaultError) in
        try endPasscodeItems()
        if !isPasswordless { try renewErasable() }
        try renewKeys(indexUnder: HeldKey(try wrapOfIndex(tier)))
        // New keys came with another share of the device, which has such a secret again.
        try endPasscodeItems()
        try makeMissingClasses()
        try keepNames()
      }
    }
  }

  /// Takes the place of the device's share.
  func adopt(_ share: DeviceShare) { keys.share = share }

  /// The device key, for a new share.
  var deviceKey: (any DeviceKey)? { device }

  /// Whether both tier keys are in memory.
  public var isUnlocked: Bool { keys.isUnlocked }

  /// Erases tier A: the keys of items that are readable only while the session is unlocked. Touches no file.
  public func lock() { keys.lock() }

  /// Erases tier C as well: only the device's own classes stay.
  public func seal() {
    sealAllButAccessLog()
    accessLog.seal()
  }

  /// The same, but for the access log's own keys, which open nothing else. Its remaining entries can still be written then.
  public func sealAllButAccessLog() {
    keys.seal()
    (heldEpochs, waitingNote) = ([], nil)
  }

  /// Whether the keys of `accessibility` are in memory, in any collection.
  public func hasKey(_ accessibility: AccessibilityClass) -> Bool {
    keys.collections.contains { $0.current(accessibility, share: keys.share)?.secretKey != nil }
  }
}
