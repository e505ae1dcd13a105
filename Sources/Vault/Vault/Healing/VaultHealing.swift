import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySQLite
import LatchkeySodium

/// The healing of a damaged or missing database. It uses the newest generation that is whole and opens with the new keys, and
/// the readable part of the damaged file.
///
/// All work is done on a copy, which is opened with the keys before it takes the file's place. Until then the vault is not
/// changed. From then on, the next program that opens the vault finishes the exchange.
public final class VaultHealing {
  private struct State {
    /// The healing of the database; nil after the end of the session in which it was announced.
    var healing: Healing?
    /// Why the database could not be healed.
    var problem: Reason?
    /// The generations that existed when healing failed.
    var failed: [PastGeneration]?
    /// Whether the vault has got keys since the last session ended.
    var wasUnlocked = false
  }

  private let place: VaultPlace
  private let database: VaultDatabase
  private let keys: VaultKeys
  private let keybag: VaultKeybag
  private let history: History
  private let rotation: VaultRotation
  weak var delegate: (any VaultDelegate)?
  private var state = State()

  private static let draftName = KeybagFile.database + ".healing"
  /// The most bytes that the damaged file and a generation may each have. Healing is not divided, so a lock or the machine's sleep
  /// waits for its end.
  private static let sizeLimit = 64 << 20
  /// The time for which healing waits for another process that writes the vault's files, in milliseconds.
  static let lockTime = 200

  init(
    _ place: VaultPlace, _ database: VaultDatabase, _ keys: VaultKeys, _ keybag: VaultKeybag, _ history: History,
    _ rotation: VaultRotation
  ) {
    (self.place, self.database, self.keys) = (place, database, keys)
    (self.keybag, self.history, self.rotation) = (keybag, history, rotation)
  }

  /// The healing of the database; nil after the end of the session in which it was announced.
  public var done: Healing? { state.healing }

  /// Why the database could not be healed.
  var problem: Reason? { state.problem }

  /// Forgets everything about the files, like a new object.
  func forget() { state = State() }

  /// Notes that the vault has got keys.
  func noteUnlock() { state.wasUnlocked = true }

  /// Forgets the report of a healing, because the session is over.
  func endSession() {
    // If the vault was healed before the login, the session that begins now still has to report it.
    if state.wasUnlocked {
      keybag.forgetHealing()
      (state.healing, state.wasUnlocked) = (nil, false)
    }
    state.problem = nil
  }

  /// The names of the files that were put aside and still exist in the vault's folder, without the logs. They are damaged files and
  /// files of another vault.
  public var filesAside: [String] {
    guard !place.isMemory, let folder = try? place.folder() else { return [] }
    return ((try? folder.names()) ?? []).filter { name in
      [KeybagFile.damagedPrefix, KeybagFile.foreignPrefix, DatabaseExchange.damagedPrefix].contains {
        name.hasPrefix($0)
      }
        && !name.hasSuffix("-wal")
    }.sorted()
  }

  // MARK: - whether it is needed

  /// The damage of the database; nil if there is no damage that a generation could heal.
  private var loss: Healing.Loss? {
    guard !place.isMemory, place.hasOwnDatabase, keybag.keybag != nil, !database.isUnfinished else { return nil }
    guard database.store == nil else { return database.isDamaged ? .damaged : nil }
    guard let folder = try? place.folder() else { return nil }
    guard folder.contains(KeybagFile.database) else { return .missing }
    if database.problem == Store.foreign { return .foreign }
    guard case .damaged = database.problem else { return nil }
    return StoreFile.isOfNewerProgram(folder) ? nil : .damaged
  }

  /// Whether a generation opens with these keys, and the database needs one.
  func canHeal(_ tiers: borrowing TierKeys, _ former: [FormerTiers]) -> Bool {
    remedy(tiers.session, former) != nil
  }

  /// Notes that an unlock with the password heals the database, if a generation opens. Tier key C alone does not open all items.
  func noteRemedy(_ session: borrowing Key) {
    guard let generation = remedy(session, []) else { return }
    state.problem = .of(.database, .nextUnlockHeals(from: generation.number))
  }

  /// The newest generation that opens with these keys, if the database needs one.
  private func remedy(_ session: borrowing Key, _ former: [FormerTiers]) -> PastGeneration? {
    guard loss != nil, let vault = keybag.keybag?.vault, !hasFailedToHeal, !isTooLarge() else { return nil }
    let budget = budget()
    for generation in history.generations where generation.size <= Self.sizeLimit {
      guard let store = try? history.open(generation, vault: vault) else { continue }
      store.database.budget = budget
      if (try? rotation.openIndex(session, former, store)) != nil { return generation }
    }
    return nil
  }

  /// The sizes of the damaged file, its log and the newest generation.
  private var sizes: [Int] {
    var sizes = [history.generations.first?.size ?? 0]
    for suffix in ["", "-wal"] {
      var information = stat()
      if lstat(place.path + "/" + KeybagFile.database + suffix, &information) == 0 {
        sizes.append(Int(information.st_size))
      }
    }
    return sizes
  }

  /// A bound for all statements on generations together, and another bound for all statements on the damaged file, wherever their
  /// pages lead. A lock of the session and the machine's sleep wait for a healing.
  private func budget() -> WorkBudget {
    WorkBudget(forFilesOf: Int64(sizes.reduce(0) { $0 + min($1, Self.sizeLimit) }))
  }

  /// Whether one of the files is too large to be healed in one step. If so, the problem is noted.
  private func isTooLarge() -> Bool {
    let sizes = sizes
    guard sizes.contains(where: { $0 > Self.sizeLimit }) else { return false }
    state.problem = .both(.of(.database, .tooLargeToHeal(mebibytes: Self.sizeLimit >> 20)), .vault(.seeManual))
    return true
  }

  /// Whether healing failed before with the same generations. Another try would cost the same time at every unlock.
  private var hasFailedToHeal: Bool { history.generations == state.failed }

  // MARK: - healing

  /// Heals the database if it needs healing and there is a generation. If not, everything stays as it is.
  func heal(_ vault: Vault, _ tiers: borrowing TierKeys, _ former: [FormerTiers]) {
    guard let loss, let number = keybag.keybag?.vault, !hasFailedToHeal, let folder = try? place.folder() else {
      return
    }
    guard !isTooLarge() else { return }
    // Another daemon on the same home folder may heal the database, too.
    guard let lock = try? KeybagFile.lock(folder, deadline: Self.lockTime) else {
      state.problem = .both(.of(.database, .vault(.lockIsHeld)), .vault(.nextUnlockTries))
      return
    }
    defer { extendLifetime(lock) }
    let generations = history.generations
    let damage = database.damage
    let budget = budget()
    for generation in generations where generation.size <= Self.sizeLimit {
      guard let base = try? history.open(generation, vault: number), base.isWhole(within: budget),
        (try? rotation.openIndex(tiers.session, former, base)) != nil
      else { continue }
      let ownLocks = keys.ownLocks
      vault.forget()
      // An item that a program has locked stays locked when the screen is unlocked.
      defer { keys.ownLocks = ownLocks }
      var healing = Healing(loss: loss, generation: generation)
      do throws(VaultError) {
        try heal(&healing, from: base, tiers, former, folder)
        database.forget()
        vault.openDatabase(folder)
        (state.healing, state.problem) = (healing, nil)
        delegate?.wasHealed(healing)
      } catch {
        let isUnfinished = database.isUnfinished
        database.forget()
        if isUnfinished {
          database.awaitsHealing(error)
        } else {
          // Opens the database as before the attempt.
          vault.openDatabase(folder)
          // The damage is still there: nothing is written into the database until the walk has found it again.
          if let damage { database.note(.damaged(damage)) }
          if error.isOfContent { state.failed = generations }
          state.problem = .of(.database, .because(.vault(.cannotHeal), error.reason))
        }
      }
      Self.removeDrafts(folder)
      return
    }
  }

  private static func removeDrafts(_ folder: borrowing Folder) {
    Salvage.remove(in: folder)
    folder.removeDatabase(draftName)
  }

  private func heal(
    _ healing: inout Healing, from base: Store, _ tiers: borrowing TierKeys, _ former: [FormerTiers],
    _ folder: borrowing Folder
  ) throws(VaultError) {
    Self.removeDrafts(folder)
    let sound = history.path + "/" + healing.generation.name
    let salvage =
      healing.loss == .damaged
      ? try Salvage(
        of: KeybagFile.database, in: folder, path: place.path, vault: base.vault, sound: sound, budget: budget()) : nil
    let order = try order(of: salvage, and: base, tiers, former)
    healing.isCounted = (salvage?.hasAllItems ?? false) && salvage?.hasWholeLog == true && order != .older
    var merge: HealingMerge.Outcome?
    var draft: Vault?
    // The first try uses all of the damaged file. Foreign keys in it pass a check sum, but open nothing.
    for step in salvage == nil ? [2] : [0, 1, 2] where draft == nil {
      folder.removeDatabase(Self.draftName)
      do throws(PosixError) { try folder.copy(sound, to: Self.draftName) } catch {
        throw VaultError(error, .database)
      }
      merge = nil
      if step < 2, let salvage {
        let store = try Store(path: draftPath, vault: base.vault)
        var attempt = HealingMerge(into: store, from: salvage, order: order)
        do throws(VaultError) { try attempt.run(keys: step == 0) } catch {
          guard error.isOfContent else { throw error }
          continue
        }
        // `attempt` owns the draft's database, so the database is closed at the end of this scope.
        merge = attempt.outcome
      } else {
        try HealingMerge.leaveGaps(in: try Store(path: draftPath, vault: base.vault))
      }
      draft = try unlockedDraft(tiers, former)
      if draft == nil, step == 2 { throw .unavailable(.vault(.generationDoesNotOpen)) }
    }
    guard let draft else { throw .unavailable(.vault(.generationDoesNotOpen)) }
    let check = HealedDraft(draft)
    if let merge { try check.check(merge, against: base, &healing) } else { healing.isCounted = false }
    try draft.olderFiles.catchUp(tiers.session)
    try check.close()
    let exchange = DatabaseExchange(stamp: Process.stamp)
    healing.aside = folder.contains(KeybagFile.database) ? place.path + "/" + exchange.aside : nil
    do throws(VaultError) {
      do throws(PosixError) { try exchange.publish(Self.draftName, folder) } catch {
        throw VaultError(error, .database)
      }
      guard isSound(exchange.healed, folder) else { throw .unavailable(.of(.database, .vault(.copyUnreadable))) }
    } catch {
      exchange.withdraw(folder)
      throw error
    }
    do throws(PosixError) { try exchange.run(folder) } catch {
      guard !exchange.hasBegun(folder) else {
        let problem = Self.unfinished(.verbatim(error.description))
        database.awaitsHealing(problem)
        throw problem
      }
      exchange.withdraw(folder)
      throw VaultError(error, .database)
    }
  }

  /// The order of the damaged database and the generation in time.
  private func order(
    of salvage: Salvage?, and base: Store, _ tiers: borrowing TierKeys, _ former: [FormerTiers]
  ) throws(VaultError) -> HealingMerge.Order {
    guard let salvage else { return .unknown }
    let generations = (
      damaged: try? rotation.openIndex(tiers.session, former, salvage.store).index.generation,
      base: try rotation.openIndex(tiers.session, former, base).index.generation
    )
    return try HealingMerge.order(of: salvage, and: base, generations: generations)
  }

  private var draftPath: String { place.path + "/" + Self.draftName }

  /// The draft as a vault that is unlocked; nil if these keys do not open it.
  private func unlockedDraft(_ tiers: borrowing TierKeys, _ former: [FormerTiers]) throws(VaultError) -> Vault? {
    let draft = Vault(looking: place.withDatabase(Self.draftName))
    guard draft.hasDatabase else { return nil }
    do throws(VaultError) {
      try draft.takeOver(
        tiers.session, unlocked: try draft.collections.chain(tiers.unlocked), former: former, liftingLocksOf: [],
        notesGenerations: false)
      return draft.isDamaged ? nil : draft
    } catch {
      guard error.isOfContent else { throw error }
      return nil
    }
  }

  // MARK: - after an interruption

  /// Finishes the exchange that a process began before it ended: the healed database replaces the damaged one. If `vault.db` is
  /// whole by now, it stays, and the healed database is removed.
  ///
  /// - Parameter deadline: the time to wait for another process that writes the vault's files, in milliseconds.
  /// - Returns: the reason why the exchange is not finished; nil if it is. Until it is finished, `vault.db` must not be opened: its
  ///   log may be missing, and new rows would be put aside with the file.
  func finish(_ folder: borrowing Folder, deadline: Int) -> VaultError? {
    do throws(PosixError) {
      let names = try folder.names()
      let candidates = names.filter { DatabaseExchange.isHealed($0) && folder.hasOwnFile($0) }
      let hasDrafts = names.contains { $0.hasPrefix(Self.draftName) || $0.hasPrefix(Salvage.name) }
      guard hasDrafts || !candidates.isEmpty else { return nil }
      var lock: FileDescriptor?
      do throws(PosixError) { lock = try KeybagFile.lock(folder, deadline: deadline) } catch {
        // Another process has the lock, and works on these files.
        if error.code == EWOULDBLOCK { return Self.unfinished(.vault(.otherWriter)) }
        // A draft alone does not change the vault.
        return candidates.isEmpty ? nil : Self.unfinished(.of(.keybagLock, .verbatim(error.description)))
      }
      defer { extendLifetime(lock) }
      if hasDrafts { Self.removeDrafts(folder) }
      let healed = candidates.sorted(by: >).first { isSound($0, folder) }
      for other in candidates where other != healed {
        guard let begun = DatabaseExchange.begun(other, folder) else { continue }
        // The healed database cannot be read any more. The damaged one gets its log back, and can be healed again.
        try begun.putBack(folder)
        try folder.remove([other])
      }
      guard let healed else {
        if case .whole = presentState(folder, .existing) { try folder.remove(candidates) }
        return nil
      }
      let exchange = DatabaseExchange.next(healed, folder)
      let hasBegun = DatabaseExchange.begun(healed, folder) != nil
      // After the exchange has begun, opening `vault.db` would make another log.
      let present = presentState(folder, hasBegun ? .unchanging : .existing)
      switch present {
      case .whole where !hasBegun:
        try folder.remove(candidates)
        return nil
      case .unknown(let error): return error
      default: break
      }
      try exchange.run(folder)
      let wasKept = folder.contains(exchange.aside)
      var loss = present.loss
      if case .missing = present, wasKept { loss = .damaged }
      let healing = Healing(finishing: loss, aside: wasKept ? place.path + "/" + exchange.aside : nil)
      (state.healing, state.problem) = (healing, nil)
      delegate?.wasHealed(healing)
      return nil
    } catch { return Self.unfinished(.verbatim(error.description)) }
  }

  /// Why a healed database is not in its place.
  private static func unfinished(_ reason: Reason) -> VaultError {
    .unavailable(
      .both(.of(.database, .because(.vault(.healedNotInPlace), reason)), .vault(.unlockToTryAgain)))
  }

  /// The state of a database file, `vault.db` if no other is named, before anything is opened.
  private enum PresentState {
    case missing, damaged, foreign, whole
    /// Another process has the file, a newer program made it, or it cannot be opened now.
    case unknown(VaultError)

    /// The file is damaged in this way.
    var loss: Healing.Loss {
      switch self {
      case .missing: .missing
      case .foreign: .foreign
      default: .damaged
      }
    }
  }

  private func presentState(
    of name: String = KeybagFile.database, _ folder: borrowing Folder, _ mode: Database.Mode
  ) -> PresentState {
    guard folder.contains(name) else { return .missing }
    let header: [UInt8]
    do throws(PosixError) { header = try StoreFile.header(of: name, in: folder) } catch {
      return .unknown(VaultError(error, .database))
    }
    let keybag: Keybag
    do throws(KeybagError) { keybag = try KeybagFile.load(from: folder) } catch {
      return .unknown(.damaged(.of(.keybag, error.reason)))
    }
    do throws(VaultError) {
      try StoreFile.checkHeader(header)
      // The database is opened together with its log, but nothing is written into the log.
      return try Store(path: place.path + "/" + name, vault: keybag.vault, mode: mode).isWhole ? .whole : .damaged
    } catch {
      if case .damaged = error { return .damaged }
      return error == Store.foreign ? .foreign : .unknown(error)
    }
  }

  /// Whether the file is a whole database of this vault.
  private func isSound(_ name: String, _ folder: borrowing Folder) -> Bool {
    if case .whole = presentState(of: name, folder, .unchanging) { true } else { false }
  }
}

extension VaultError {
  /// Whether the error says something about the file's content. After any other error, another try could succeed.
  var isOfContent: Bool {
    switch self {
    case .outOfMemory, .diskFull: false
    default: true
    }
  }
}
