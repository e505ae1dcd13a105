import Glibc
import Keybag
import Posix
import Sodium

/// One user's vault: the files, and the keys that are in memory now.
///
/// It knows no session and no bus. Whoever owns it says when to ``unlock(_:opening:liftingMarks:of:mayCreate:)``, to
/// ``evict()`` (screen locked) and to ``seal()`` (session ended); every call then answers by the keys that are there.
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

  private let home: String
  private let owner: uid_t
  private let machine: [UInt8]?

  /// The keybag, as far as it can be read.
  public private(set) var keybag: Keybag?
  private var keybagProblem: String?
  private var deviceProblem: String?
  private(set) var storeProblem: VaultError?
  private var itemProblem: String?

  private(set) var store: Store?
  private(set) var index: AttributeIndex?
  private(set) var share: DeviceShare?
  private(set) var device: (any DeviceKey)?
  var open: [OpenCollection] = []
  /// The links behind the last collection: from these new collections get their keys.
  var chains: (unlocked: KeyChain?, session: KeyChain?)
  var verification: Verification?
  /// Whether no item was ever stored: known of a vault in memory only, and spares searches in it.
  var isUnused = false
  /// Where the wrapping of items that were stored while locked goes on.
  var rewrapPosition: Int64 = 0

  /// The vault below `home`, whose files `owner` owns; nothing of it need be there.
  ///
  /// - Parameter machine: 16 bytes of this machine's identity, or nil.
  public init(home: String, owner: uid_t, machine: [UInt8]?) {
    self.home = home
    self.owner = owner
    self.machine = machine
    refresh()
  }

  /// A vault in memory only, unlocked for good, with one collection.
  ///
  /// - Parameter last: the number behind which those of its items begin.
  public init(inMemoryWithLabel label: String, itemsAfter last: Int64 = 0) throws(VaultError) {
    (home, owner, machine) = ("", 0, nil)
    do {
      let tiers = try TierKeys.random()
      try fill(nil, vault: Sodium.randomBytes(16), tiers: tiers, label: label, aliases: [])
      if last > 0 { try writing { store throws(VaultError) in try store.beginItems(after: last) } }
      try loadCollections()
      try takeOver(tiers, opening: .everything, liftingMarksOf: [])
      isUnused = true
    } catch let error as VaultError { throw error } catch { throw .outOfMemory }
  }

  // MARK: - files

  /// The folder of the vault.
  public var path: String { KeybagFile.folderPath(home: home) }

  /// What is wrong with the vault's files, for a person; each line names the file.
  public var problems: [String] {
    var lines: [String] = []
    if let keybagProblem { lines.append("keybag: \(keybagProblem)") }
    if let deviceProblem { lines.append("\(FileDeviceKey.name): \(deviceProblem)") }
    if let storeProblem, storeProblem != .notFounded { lines.append(storeProblem.explanation) }
    if let itemProblem { lines.append(itemProblem) }
    // A keybag that cannot be read is why there is no store, too.
    return lines.enumerated().filter { !lines[..<$0.offset].contains($0.element) }.map(\.element)
  }

  /// Where the device key is kept; nil without one.
  public var deviceBackend: DeviceKeyBackend? { device?.backend }

  /// Whether the database is open, so that it is known what the vault holds.
  public var hasDatabase: Bool { store != nil }

  /// Looks at the files again, where they were missing or damaged so far. What is open stays as it is.
  public func refresh() {
    guard store == nil || itemProblem == nil else { return }
    let folder: Folder
    do { folder = try KeybagFile.folder(home: home, owner: owner) } catch {
      keybag = nil
      keybagProblem = error == .missing ? nil : error.explanation
      storeProblem = error == .missing ? .notFounded : .unavailable("the vault's folder: \(error.explanation)")
      return
    }
    let hasDatabase = folder.contains(KeybagFile.database)
    do {
      keybag = try KeybagFile.load(from: folder)
      keybagProblem = nil
    } catch {
      keybag = nil
      keybagProblem = error == .missing && !hasDatabase ? nil : error.explanation
      if store == nil {
        storeProblem = error == .missing && !hasDatabase ? .notFounded : .damaged("keybag: \(error.explanation)")
      }
      return
    }
    if let store, keybag?.vault != store.vault {
      keybag = nil
      keybagProblem = "it belongs to another vault than the database that is open"
    }
    guard store == nil, let keybag else { return }
    guard hasDatabase else {
      // Between founding and the first unlock there is no database yet; later, a missing one is a loss.
      storeProblem = keybag.generation == 1 ? .notFounded : .unavailable("vault.db: the file is missing")
      return
    }
    openDatabase(folder)
  }

  private func openDatabase(_ folder: borrowing Folder) {
    guard let keybag else { return }
    do {
      var header = [UInt8](repeating: 0, count: 100)
      do {
        _ = try header.withUnsafeMutableBufferPointer { buffer throws(PosixError) in
          try folder.read(KeybagFile.database, into: UnsafeMutableRawBufferPointer(buffer))
        }
      } catch { throw VaultError.unavailable("vault.db: \(error.description)") }
      try Store.checkHeader(header)
      let store = try Store(path: path + "/" + KeybagFile.database, vault: keybag.vault)
      try adopt(store, folder: folder)
      storeProblem = nil
    } catch let error as VaultError {
      storeProblem = error
      abandon()
    } catch {}
  }

  /// Opens what needs no tier key: the device's share, the index, the device's own classes.
  private func adopt(_ store: Store, folder: borrowing Folder) throws(VaultError) {
    self.store = store
    verification = Verification(store)
    try openDevice(folder: folder, mayCreate: false)
    if let device {
      for row in try store.devices() where row.identity == device.identity {
        do {
          let share = try DeviceShare(row, vault: store.vault, device: device)
          self.share = share
          index = try share.index(row, vault: store.vault)
        } catch let error as DeviceKeyError {
          deviceProblem = error.explanation
        } catch let error as VaultError { throw error } catch {}
      }
    }
    try loadCollections()
  }

  private func loadCollections() throws(VaultError) {
    guard let store else { return }
    open = []
    let rows = try store.collections()
    let keys = try store.classKeys()
    guard Set(keys.map(\.collection)).isSubset(of: rows.map(\.id)) else {
      throw .damaged("vault.db: a class key belongs to no collection")
    }
    for row in rows {
      let collection = try OpenCollection(row, classes: keys.filter { $0.collection == row.id })
      if !row.locked { try collection.open(unlocked: nil, session: nil, share: share, vault: store.vault) }
      open.append(collection)
    }
  }

  private func openDevice(folder: borrowing Folder, mayCreate: Bool) throws(VaultError) {
    do {
      device = try FileDeviceKey(folder: folder, machine: machine, mayCreate: mayCreate)
      deviceProblem = nil
    } catch {
      device = nil
      deviceProblem = error.explanation
    }
  }

  /// Drops the database, which was found damaged, and every key. The file stays as it is.
  private func abandon() {
    store?.database.leaveAlone()
    forget()
  }

  private func forget() {
    (store, index, share, verification, open, chains) = (nil, nil, nil, nil, [], (nil, nil))
  }

  /// The database, or why there is none.
  func ready() throws(VaultError) -> Store {
    guard let store else { throw storeProblem ?? .notFounded }
    return store
  }

  /// The database for a change: refused once damage was found anywhere in it.
  func writable() throws(VaultError) -> Store {
    let store = try ready()
    if let itemProblem { throw .damaged(itemProblem) }
    return store
  }

  /// Runs a step on the database. Damage that it comes upon is noted.
  func reading<Result>(_ body: (Store) throws(VaultError) -> Result) throws(VaultError) -> Result {
    let store = try ready()
    do throws(VaultError) { return try body(store) } catch {
      note(error)
      throw error
    }
  }

  /// Runs a change of the database: all of it is on the disk when this returns, or nothing of it happened.
  func writing<Result>(_ body: (Store) throws(VaultError) -> Result) throws(VaultError) -> Result {
    let store = try writable()
    do throws(VaultError) { return try store.transaction { () throws(VaultError) in try body(store) } } catch {
      note(error)
      throw error
    }
  }

  /// The index, or why it cannot be asked.
  func readyIndex() throws(VaultError) -> AttributeIndex {
    _ = try ready()
    guard let index else {
      throw .unavailable("\(FileDeviceKey.name): \(deviceProblem ?? "this is another device"); log in to search")
    }
    return index
  }

  /// Notes damage that a call or the verification came upon, after which nothing is written any more.
  func note(_ error: VaultError) {
    guard case .damaged(let text) = error, itemProblem == nil else { return }
    itemProblem = text
    store?.database.leaveAlone()
  }

  /// Whether damage was found in the database.
  public var isDamaged: Bool { itemProblem != nil }

  /// To be called when the vault has been quiet for a moment: moves what was written to its place in the database and
  /// empties the log. A failure loses nothing; the next call tries again. Nothing is moved into a database that was not
  /// yet looked at as a whole.
  public func settle() {
    guard itemProblem == nil, isVerified else { return }
    try? store?.emptyLog()
  }

  // MARK: - keys

  /// Whether these are the keys of this vault's keybag.
  public func recognises(_ tiers: borrowing TierKeys) throws(KeybagError) -> Bool {
    guard let keybag else { throw .missing }
    return try keybag.recognises(tiers)
  }

  /// Whether ``unlock(_:opening:liftingMarks:of:mayCreate:)`` could use these keys, without taking anything over: the files
  /// can be used, and the keys open something of the database. A keybag alone proves nothing: it could have been put
  /// there together with keys of its own.
  public func check(_ tiers: borrowing TierKeys, mayCreate: Bool) throws(VaultError) {
    refresh()
    guard let store else {
      guard let keybag, storeProblem == .notFounded, mayCreate || keybag.generation == 1 else {
        throw storeProblem ?? .notFounded
      }
      return
    }
    do throws(VaultError) { _ = try openIndex(tiers, store) } catch {
      if case .damaged = error { throw .unavailable("keybag and vault.db do not belong together") }
      throw error
    }
  }

  private func openIndex(_ tiers: borrowing TierKeys, _ store: Store) throws(VaultError) -> AttributeIndex {
    let row = try store.vaultRow()
    return try VaultError.sodium("the index key") { () throws(SodiumError) in
      AttributeIndex(
        try Key(
          try AEAD.open(
            row.indexKey.span.bytes, key: try tiers.session.derive(.indexWrap, [store.vault]),
            associated: store.vault)))
    }
  }

  /// Takes keys over into memory. They must be this vault's: ``recognises(_:)``.
  ///
  /// - Parameters:
  ///   - liftingMarks: whether collections that were locked by themselves open as well. A login does that, a screen
  ///     unlock does not.
  ///   - marked: which of them; nil for all.
  ///   - mayCreate: whether a missing database is made: only right after founding.
  public func unlock(
    _ tiers: borrowing TierKeys, opening: Opening, liftingMarks: Bool, of marked: Set<Int64>? = nil, mayCreate: Bool
  ) throws(VaultError) {
    try check(tiers, mayCreate: mayCreate)
    if store == nil, let keybag { try create(keybag, tiers) }
    let lifted = liftingMarks ? marked ?? Set(collections) : []
    try takeOver(tiers, opening: opening, liftingMarksOf: lifted)
  }

  /// Makes the database of a vault that has none: under another name, which becomes its own when everything in it is on
  /// the disk. So whenever this is interrupted, there is no database or a whole one.
  private func create(_ keybag: Keybag, _ tiers: borrowing TierKeys) throws(VaultError) {
    let folder: Folder
    do { folder = try KeybagFile.folder(home: home, owner: owner) } catch {
      throw .unavailable("the vault's folder: \(error.explanation)")
    }
    // A device key that was there before the database stays: it may be shared with an older copy of the vault.
    try openDevice(folder: folder, mayCreate: true)
    let draft = KeybagFile.database + ".new"
    for suffix in ["", "-wal", "-shm", "-journal"] { folder.remove(draft + suffix) }
    do throws(VaultError) {
      // SQLite would let others read it, and gives its log the mode of the database.
      do throws(PosixError) {
        _ = try FileDescriptor.open(draft, at: folder.number, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
      } catch { throw error.code == ENOSPC ? .diskFull : .unavailable("vault.db: \(error.description)") }
      try fill(path + "/" + draft, vault: keybag.vault, tiers: tiers, label: "Login", aliases: ["default", "login"])
      try finishDraft()
      do throws(PosixError) { try folder.rename(draft, to: KeybagFile.database) } catch {
        throw .unavailable("vault.db: \(error.description)")
      }
    } catch {
      forget()
      for suffix in ["", "-wal", "-shm", "-journal"] { folder.remove(draft + suffix) }
      throw error
    }
    openDatabase(folder)
    if let storeProblem { throw storeProblem }
  }

  /// Moves everything from the log into the file, and closes it. The end of the connection alone would do that as well,
  /// but would not say that it failed.
  private func finishDraft() throws(VaultError) {
    try store?.emptyLog()
    store?.database.trust()
    forget()
  }

  /// Makes a database with one collection. `file` nil: in memory only.
  private func fill(
    _ file: String?, vault: [UInt8], tiers: borrowing TierKeys, label: String, aliases: [String]
  ) throws(VaultError) {
    let indexKey = try VaultError.sodium("a new index") { () throws(SodiumError) in try Key.random() }
    let row = try VaultError.sodium("a new index") { () throws(SodiumError) in
      VaultRow(
        vault: vault, created: Process.time,
        indexKey: AEAD.seal(
          indexKey.bytes, key: try tiers.session.derive(.indexWrap, [vault]), associated: vault))
    }
    store = try Store(creating: file, first: row)
    index = AttributeIndex(indexKey)
    var unlockedChain = try chain(tiers.unlocked)
    var sessionChain = try chain(tiers.session)
    try adoptDevice()
    _ = try makeCollection(label: label, aliases: aliases, unlocked: &unlockedChain, session: &sessionChain)
  }

  private func chain(_ tier: borrowing Key) throws(VaultError) -> KeyChain {
    let vault = try ready().vault
    do { return try KeyChain(tier: tier, vault: vault) } catch { throw .outOfMemory }
  }

  /// Gives a device that the vault has not met a share and the index key; needs the index.
  private func adoptDevice() throws(VaultError) {
    guard share == nil, let device, let index, let store, itemProblem == nil else { return }
    let known = try store.devices()
    guard !known.contains(where: { $0.identity == device.identity }) else { return }
    guard let last = ([0] + known.map(\.id)).max(), last < .max else { throw .damaged("vault.db: a number is damaged") }
    let (share, row) = try DeviceShare.make(id: last + 1, vault: store.vault, device: device, index: index)
    try writing { store throws(VaultError) in try store.insert(row) }
    self.share = share
  }

  /// Takes keys over, or none: after a failure no key is there that was not there before.
  private func takeOver(
    _ tiers: borrowing TierKeys, opening: Opening, liftingMarksOf lifted: Set<Int64>
  ) throws(VaultError) {
    let wasSealed = chains.session == nil
    do throws(VaultError) { try takeOverAll(tiers, opening: opening, liftingMarksOf: lifted) } catch {
      if wasSealed { seal() } else { evict() }
      throw error
    }
  }

  private func takeOverAll(
    _ tiers: borrowing TierKeys, opening: Opening, liftingMarksOf lifted: Set<Int64>
  ) throws(VaultError) {
    let store = try ready()
    let genuine = try openIndex(tiers, store)
    if let index, try !index.isSame(as: genuine) {
      // Whoever has no password made that row: what was not found by its index may be there all the same.
      note(.damaged("vault.db: a row of table device is not the vault's"))
    }
    index = genuine
    if device == nil, !home.isEmpty, let folder = try? KeybagFile.folder(home: home, owner: owner) {
      // The device key is gone or another device's: what hangs on it stays as it is, and this device starts its own.
      try openDevice(folder: folder, mayCreate: true)
    }
    try whereThereIsRoom { () throws(VaultError) in try adoptDevice() }
    for collection in open where collection.row.locked && lifted.contains(collection.row.id) {
      try setMark(collection, false)
    }
    var session = try chain(tiers.session)
    var unlocked: KeyChain? = opening == .everything ? try chain(tiers.unlocked) : nil
    for collection in open {
      do {
        while session.ordinal < collection.row.ordinal {
          try session.skip()
          try unlocked?.skip()
        }
        let sessionKey = try session.next(uuid: collection.row.uuid)
        let unlockedKey = try unlocked?.next(uuid: collection.row.uuid)
        if collection.row.locked { continue }
        try collection.open(unlocked: unlockedKey, session: sessionKey, share: share, vault: store.vault)
      } catch let error as VaultError { throw error } catch { throw .outOfMemory }
    }
    // Both chains stand at the same collection, also when the last ones were deleted since the other was made.
    while let other = chains.unlocked, unlocked == nil, session.ordinal < other.ordinal {
      do { try session.skip() } catch { throw .outOfMemory }
    }
    chains = (unlocked ?? chains.unlocked, session)
    if opening == .everything, itemProblem == nil {
      try whereThereIsRoom { () throws(VaultError) in
        let open = open.filter { !$0.isClosed }
        let made = try writing { store throws(VaultError) in
          var made: [[ClassKey]] = []
          for collection in open { made.append(try collection.makeMissingClasses(share: share, in: store)) }
          return made
        }
        for (collection, classes) in zip(open, made) { collection.adopt(classes) }
      }
    }
  }

  /// Runs what the next unlock can do as well. A full or read-only disk is no reason not to open what is there.
  func whereThereIsRoom(_ body: () throws(VaultError) -> Void) throws(VaultError) {
    do throws(VaultError) { try body() } catch {
      switch error {
      case .diskFull, .unavailable: return
      default: throw error
      }
    }
  }

  /// Whether both tier keys are in memory.
  public var isUnlocked: Bool { chains.unlocked != nil && chains.session != nil }

  /// Erases tier A: what may be read while the session is unlocked only. Touches no file.
  public func evict() {
    chains.unlocked = nil
    for collection in open { collection.evict() }
  }

  /// Erases tier C as well: only the device's own classes stay.
  public func seal() {
    evict()
    chains.session = nil
    for collection in open { collection.seal() }
    // Where this device has no share, the index key came with tier key C, and goes with it.
    if share == nil { index = nil }
  }

  /// Whether the keys of `accessibility` are in memory, in any collection.
  public func hasKey(_ accessibility: AccessibilityClass) -> Bool {
    open.contains { $0.current(accessibility, share: share)?.secretKey != nil }
  }
}
