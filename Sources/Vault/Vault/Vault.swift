// Vault: one user's secrets, sealed in a database, and the keys that are in memory now.
//
// The owner of a ``Vault`` hands it tier keys, tells it to lock and to seal, and asks it for items.
// Every answer follows from the keys that are there at that moment. The parts are in rooms, one folder
// each: Creation, Store, Keys, Collections, Items, Search, Device, AccessLog, History, Healing,
// BackupAndRestore, Failures. Sources/Vault/README.md has a table of the rooms. Only the vault as a whole
// is beside the rooms.
//
// The history is all former states of the vault, and a generation is one of them. A person asks for the
// history, so folders have that word. A file of the history is a generation.
//
//     let vault = Vault(home: home, owner: uid, machine: identity)
//     try vault.unlock(tiers, opening: .everything, liftingLocks: true, mayCreate: false)
//     let stored = try vault.writer.createItem(item, secret: secret)
//     vault.lock()
//
// ``Vault/reader`` and ``Vault/writer`` are the items, ``Vault/collections`` the collections,
// ``Vault/accessLog`` the log, ``Vault/history`` the former states, and ``Vault/rotation`` changes of
// keys.
//
// The module promises that a secret opens only with the keys of its class, and that a lock erases them before it returns. Every
// value is bound to its place, so a row that was altered or moved does not open. A committed change survives a power cut. Damage is
// noticed, reported, and healed if a generation has the rows. A damaged file is never written to. Work that takes long is done in
// steps, each of which ends after a few milliseconds.
//
// It does not know sessions, screens, buses or people. It does not derive keys from passwords. It does
// not hide how many items there are, or how large they are (docs/security/leaks.md). It cannot tell
// that all files together are an older copy without the device key service. FORMAT.md has the tables
// byte by byte.

import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySodium

/// One user's vault: the files, and the keys that are in memory now.
///
/// It knows no session and no bus. The vault's owner calls ``unlock(_:former:opening:liftingLocks:of:mayCreate:)``, ``lock()`` (the
/// screen is locked) and ``seal()`` (the session has ended); every other call answers by the keys that are in memory.
///
/// A vault whose files are damaged is never written to. The damage is in ``problems``, and calls throw ``VaultError/damaged(_:)``.
public final class Vault {
  /// The tier keys that are taken over.
  public enum Opening: Sendable {
    /// Tier key C alone: the session is past its first unlock, but the screen is locked.
    case session
    /// Both tier keys.
    case everything
  }

  /// Reads items.
  public let reader: ItemReader
  /// Creates, changes and deletes items.
  public let writer: ItemWriter
  /// Finds items by words.
  public let texts: TextSearch
  /// The collections.
  public let collections: VaultCollections
  /// The outcomes of requests for items that require something.
  public let accessLog: AccessLog
  /// Former states of the vault.
  public let history: History
  /// The device key.
  public let device: VaultDevice
  /// The items that depend on a login password.
  public let passcode: VaultPasscode
  /// Changes of keys.
  public let rotation: VaultRotation
  /// Whether older copies of the files were put back.
  public let olderFiles: OlderFilesWatch
  /// The healing of the database.
  public let healing: VaultHealing
  let place: VaultPlace
  let database = VaultDatabase()
  let keys = VaultKeys()
  let keybagFile: VaultKeybag
  /// Hears of the state of the vault's files.
  public weak var delegate: (any VaultDelegate)? {
    didSet {
      (database.delegate, keybagFile.delegate) = (delegate, delegate)
      (healing.delegate, olderFiles.delegate) = (delegate, delegate)
    }
  }
  /// Why a vault without a password does not open; the reason names the file.
  var passwordlessProblem: Reason?
  /// The highest number that an item had in a vault that was put aside, or a random number if that is unknown; 0 for none. The next
  /// vault's numbers are higher, so no object path that a client still has names another item.
  var lastItemAside: Int64 = 0

  /// The vault below `home`, whose files `owner` owns. No file of it needs to exist.
  ///
  /// - Parameters:
  ///   - machine: 16 bytes of this machine's identity, or nil.
  ///   - service: asks for the device key of the system service.
  public convenience init(
    home: String, owner: uid_t, machine: [UInt8]?, service: @escaping DeviceKeyService = { nil }
  ) {
    self.init(looking: VaultPlace(home: home, owner: owner, machine: machine, service: service))
  }

  /// Opens the vault at that place, as far as its files allow.
  convenience init(looking place: VaultPlace) {
    self.init(place)
    refresh()
  }

  /// A vault in memory only, unlocked for good, with one collection.
  ///
  /// - Parameter last: the vault's item numbers begin after this number.
  public convenience init(inMemoryWithLabel label: String, itemsAfter last: Int64 = 0) throws(VaultError) {
    self.init(.memory)
    do {
      let tiers = try TierKeys.random()
      try fill(nil, vault: Sodium.randomBytes(16), tiers: tiers, label: label, aliases: [])
      if last > 0 { try database.writing { store throws(VaultError) in try store.beginItems(after: last) } }
      try loadCollections()
      try takeOver(
        tiers.session, unlocked: try collections.chain(tiers.unlocked), former: [], liftingLocksOf: [])
      reader.isUnused = true
    } catch let error as VaultError { throw error } catch { throw .outOfMemory }
  }

  private init(_ place: VaultPlace) {
    self.place = place
    history = History(database, home: place.home, owner: place.owner)
    reader = ItemReader(database, keys)
    writer = ItemWriter(database, keys, reader, observer: history)
    texts = TextSearch(database, keys, reader)
    accessLog = AccessLog(database, keys, reader)
    keybagFile = VaultKeybag(place, database, keys, history)
    device = VaultDevice(place, database, keys, keybagFile)
    passcode = VaultPasscode(place, database, keys, keybagFile, device, history)
    rotation = VaultRotation(database, keys, keybagFile, device, passcode, reader, accessLog)
    olderFiles = OlderFilesWatch(place, database, keys, keybagFile, device, rotation)
    healing = VaultHealing(place, database, keys, keybagFile, history, rotation)
    collections = VaultCollections(database, keys, history, rotation, device)
  }

  // MARK: - files

  /// The folder of the vault.
  public var path: String { place.path }

  /// The keybag, as far as this version can read it.
  public var keybag: Keybag? { keybagFile.keybag }

  /// The healing of the keybag; nil after the end of the session in which it was announced.
  public var keybagHealing: KeybagHealing? { keybagFile.healing }

  /// The problems of the vault's files, each of which names the file.
  public var problems: [Reason] {
    var lines: [Reason] = []
    if let problem = keybagFile.problem { lines.append(.of(.keybag, problem)) }
    if let passwordlessProblem { lines.append(passwordlessProblem) }
    if let problem = keys.deviceProblem { lines.append(problem) }
    if let problem = olderFiles.problem { lines.append(problem) }
    if let problem = healing.problem { lines.append(problem) }
    if let problem = database.problem, problem != .notCreated { lines.append(problem.reason) }
    if let damage = database.damage { lines.append(damage) }
    if let absence = database.absence { lines.append(absence.reason) }
    // If the keybag cannot be read, there is no store for the same reason.
    return lines.enumerated().filter { !lines[..<$0.offset].contains($0.element) }.map(\.element)
  }

  /// Whether the vault should have a keybag, but has no usable one.
  public var hasUnusableKeybag: Bool { keybag == nil && keybagFile.problem != nil }

  /// Whether the database is open, so that the vault's content is known.
  public var hasDatabase: Bool { database.store != nil }

  /// Reads the keybag again, and opens the database if it is not open. Does nothing if the open database is damaged.
  public func refresh() { refresh(waiting: 0) }

  /// - Parameter time: the time to wait for another process that writes the vault's files, in milliseconds. It is needed only if a
  ///   healing must be finished.
  func refresh(waiting time: Int) {
    database.noteCut()
    guard database.store == nil || database.damage == nil else { return }
    let folder: Folder
    do throws(KeybagError) { folder = try place.folder() } catch {
      return database.lacks(keybagFile.lacksFolder(error))
    }
    let loaded = keybagFile.read(folder)
    // Healing that a crash interrupted is finished before any file is opened.
    var unfinished: VaultError?
    if database.store == nil, place.hasOwnDatabase, case .success = loaded {
      unfinished = healing.finish(folder, deadline: time)
    }
    let hasDatabase = folder.contains(place.databaseName)
    switch loaded {
    case .success(let found): guard keybagFile.take(found) else { return }
    case .failure(let error): return database.lacks(keybagFile.lacksFile(error, isExpected: hasDatabase))
    }
    guard database.store == nil, let keybag else { return }
    if let unfinished { return database.awaitsHealing(unfinished) }
    guard hasDatabase else {
      // Between creation and the first unlock there is no database yet; later, a missing one is a loss.
      let isNew = keybag.awaitsDatabase && history.generations.isEmpty
      return database.lacks(isNew ? .notCreated : .unavailable(.of(.database, .vault(.fileMissing))))
    }
    openDatabase(folder)
  }

  func openDatabase(_ folder: borrowing Folder) {
    guard let keybag else { return }
    do {
      let header: [UInt8]
      do throws(PosixError) { header = try StoreFile.header(of: place.databaseName, in: folder) } catch {
        throw VaultError.unavailable(.of(.database, .verbatim(error.description)))
      }
      try StoreFile.checkHeader(header)
      let store = try Store(path: place.databasePath, vault: keybag.vault)
      try adopt(store, folder: folder)
    } catch let error as VaultError {
      // SQLite reports "disk I/O error" here, although the disk is not broken: to read, it must write a file beside the database.
      if case .unavailable = error, folder.isReadOnly {
        abandon(.unavailable(.of(.database, .vault(.readOnly))))
      } else {
        abandon(error)
      }
    } catch {}
  }

  /// Opens everything that needs no tier key: the device's share, the index, the device's own classes.
  private func adopt(_ store: Store, folder: borrowing Folder) throws(VaultError) {
    database.open(store)
    try device.open(folder, mayCreate: false)
    try loadCollections()
    collections.nameAll()
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

  /// Drops the damaged database and every key. The file stays as it is.
  private func abandon(_ problem: VaultError) {
    history.rest()
    database.abandon()
    forget()
    database.lacks(problem)
  }

  /// Forgets everything about the files, like a new object.
  func forgetFiles() {
    forget()
    database.forget()
    keybagFile.forget()
    device.forget()
    passcode.forget()
    rotation.forget()
    olderFiles.forget()
    healing.forget()
    writer.forget()
    history.forget()
    accessLog.forget()
    (passwordlessProblem, keys.generation) = (nil, 0)
  }

  /// Closes the database, and erases the keys.
  func forget() {
    history.leaveVault()
    database.close()
    keys.forget()
    olderFiles.seal()
    device.begin()
  }

  /// Forgets the reports of older copies and of healing, because the session is over.
  public func endSession() {
    healing.endSession()
    olderFiles.endSession()
  }

  /// Whether damage was found in the database.
  public var isDamaged: Bool { database.isDamaged }

  /// Whether the whole database was verified since it was opened.
  public var isVerified: Bool { database.isVerified }

  /// Verifies a little more of the database. Damage becomes an entry of ``problems``, and ends the walk.
  ///
  /// - Returns: whether there is more to verify.
  public func verifyStep() -> Bool { database.verifyStep() }

  /// Moves the pages of the log into the database, and empties the log. Called when the vault has been quiet for a moment. A
  /// failure loses nothing; the next call tries again.
  public func settle() { device.settleDatabase() }

  // MARK: - the state

  /// Whether both tier keys are in memory.
  public var isUnlocked: Bool { keys.isUnlocked }

  /// Erases tier A: the keys of items that are readable only while the session is unlocked. Touches no file.
  public func lock() {
    keys.lock()
    texts.forget()
  }

  /// Also erases tier C: only the device's own classes stay.
  public func seal() {
    sealAllButAccessLog()
    accessLog.seal()
  }

  /// Seals, but keeps the access log's keys, which open nothing else, so that the remaining entries can still be written.
  public func sealAllButAccessLog() {
    keys.seal()
    texts.forget()
    olderFiles.seal()
  }

  /// Whether the keys of `accessibility` are in memory, in any collection.
  public func hasKey(_ accessibility: AccessibilityClass) -> Bool {
    keys.collections.contains { $0.current(accessibility, share: keys.share)?.secretKey != nil }
  }
}
