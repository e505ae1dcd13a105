import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySQLite
import LatchkeySodium

/// The healing of a damaged or missing database. It uses the newest generation that is whole and opens with the new keys, and
/// the readable part of the damaged file.
///
/// All work is done on a copy, which is opened with the keys before it takes the file's place. Until then nothing of the
/// vault is changed. From then on, the next program that opens the vault finishes the exchange.
extension Vault {
  private static let draftName = KeybagFile.database + ".healing"
  /// The most bytes that the damaged file and a generation may each have. Healing is not divided: a lock or the machine's sleep waits
  /// for its end.
  private static let sizeLimit = 64 << 20

  /// How long healing waits for another process that writes the vault's files, in milliseconds.
  static let lockTime = 200

  /// The damage of the database; nil if there is none that a generation could heal.
  private var loss: Healing.Loss? {
    guard !home.isEmpty, databaseName == KeybagFile.database, keybag != nil, !isHealingUnfinished else { return nil }
    guard database.store == nil else { return database.isDamaged ? .damaged : nil }
    guard let folder = try? KeybagFile.folder(home: home, owner: owner) else { return nil }
    guard folder.contains(KeybagFile.database) else { return .missing }
    if database.problem == Store.foreign { return .foreign }
    guard case .damaged = database.problem else { return nil }
    return Store.isOfNewerProgram(folder) ? nil : .damaged
  }

  /// Whether a generation opens with these keys, and the database needs one.
  func canHeal(_ tiers: borrowing TierKeys, _ former: [FormerTiers]) -> Bool {
    remedy(tiers.session, former) != nil
  }

  /// Says that an unlock with the password heals the database, where that is so: tier key C alone does not look into all items.
  func noteRemedy(_ session: borrowing Key) {
    guard let generation = remedy(session, []) else { return }
    healingProblem =
      .of(.database, .nextUnlockHeals(from: generation.number))
  }

  /// The newest generation that opens with these keys, where the database needs one.
  private func remedy(_ session: borrowing Key, _ former: [FormerTiers]) -> PastGeneration? {
    guard loss != nil, let vault = keybag?.vault, !hasFailedToHeal, !isTooLarge() else { return nil }
    for generation in history.generations where generation.size <= Vault.sizeLimit {
      guard let store = try? history.open(generation, vault: vault) else { continue }
      if (try? openIndex(session, former, store)) != nil { return generation }
    }
    return nil
  }

  /// Whether the damaged file, its log or the newest generation has more than can be worked on at once. That is noted.
  private func isTooLarge() -> Bool {
    var sizes = [history.generations.first?.size ?? 0]
    for suffix in ["", "-wal"] {
      var information = stat()
      if lstat(path + "/" + KeybagFile.database + suffix, &information) == 0 { sizes.append(Int(information.st_size)) }
    }
    guard sizes.contains(where: { $0 > Vault.sizeLimit }) else { return false }
    healingProblem = .both(
      .of(.database, .tooLargeToHeal(mebibytes: Vault.sizeLimit >> 20)), .vault(.seeManual))
    return true
  }

  /// Whether it was tried in vain with the generations that there are. A second try would cost the same time at every unlock.
  private var hasFailedToHeal: Bool { history.generations == failedGenerations }

  /// Heals the database, where it needs that and a generation is there; else everything stays as it is.
  func heal(_ tiers: borrowing TierKeys, _ former: [FormerTiers]) {
    guard let loss, let vault = keybag?.vault, !hasFailedToHeal,
      let folder = try? KeybagFile.folder(home: home, owner: owner)
    else { return }
    guard !isTooLarge() else { return }
    // Another daemon on the same home folder may heal it, too.
    guard let lock = try? KeybagFile.lock(folder, deadline: Vault.lockTime) else {
      healingProblem = .both(.of(.database, .vault(.lockIsHeld)), .vault(.nextUnlockTries))
      return
    }
    defer { extendLifetime(lock) }
    let generations = history.generations
    let damage = database.damage
    for generation in generations where generation.size <= Vault.sizeLimit {
      guard let base = try? history.open(generation, vault: vault), base.isWhole,
        (try? openIndex(tiers.session, former, base)) != nil
      else { continue }
      history.rest()
      let ownLocks = keys.ownLocks
      forget()
      // An item that a program locked by itself stays locked when the screen is unlocked.
      defer { keys.ownLocks = ownLocks }
      var healing = Healing(loss: loss, generation: generation)
      do throws(VaultError) {
        try heal(&healing, from: base, tiers, former, folder)
        database.forget()
        openDatabase(folder)
        (self.healing, healingProblem) = (healing, nil)
        delegate?.wasHealed(healing)
      } catch {
        database.forget()
        if isHealingUnfinished {
          database.problem = error
        } else {
          // As it was before.
          openDatabase(folder)
          // The damage is still there: nothing is written into the database until the walk has found it again.
          if let damage { database.note(.damaged(damage)) }
          if error.isOfContent { failedGenerations = generations }
          healingProblem = .of(.database, .because(.vault(.cannotHeal), error.reason))
        }
      }
      Vault.removeDrafts(folder)
      return
    }
  }

  private static func removeDrafts(_ folder: borrowing Folder) {
    Salvage.remove(in: folder)
    for suffix in ["", "-wal", "-shm", "-journal"] { folder.remove(draftName + suffix) }
  }

  private func heal(
    _ healing: inout Healing, from base: Store, _ tiers: borrowing TierKeys, _ former: [FormerTiers],
    _ folder: borrowing Folder
  ) throws(VaultError) {
    Vault.removeDrafts(folder)
    let sound = history.path + "/" + healing.generation.name
    let salvage =
      healing.loss == .damaged
      ? try Salvage(of: KeybagFile.database, in: folder, path: path, vault: base.vault, sound: sound) : nil
    let order = try order(of: salvage, and: base, tiers, former)
    healing.isCounted = (salvage?.hasAllItems ?? false) && salvage?.hasWholeLog == true && order != .older
    var merge: HealingMerge.Outcome?
    var draft: Vault?
    // With as much as the damaged file has; but keys that are not the vault's, which nobody finds by a check sum, open nothing.
    for step in salvage == nil ? [2] : [0, 1, 2] where draft == nil {
      Vault.removeDraft(folder)
      do throws(PosixError) { try folder.copy(sound, to: Vault.draftName) } catch {
        throw VaultError(error, .database)
      }
      merge = nil
      if step < 2, let salvage {
        let store = try Store(path: path + "/" + Vault.draftName, vault: base.vault)
        var attempt = HealingMerge(into: store, from: salvage, order: order)
        do throws(VaultError) { try attempt.run(keys: step == 0) } catch {
          guard error.isOfContent else { throw error }
          continue
        }
        // The draft is closed with it.
        merge = attempt.outcome
      } else {
        try HealingMerge.leaveGaps(in: try Store(path: path + "/" + Vault.draftName, vault: base.vault))
      }
      draft = try unlockedDraft(tiers, former)
      if draft == nil, step == 2 { throw .unavailable(.vault(.generationDoesNotOpen)) }
    }
    guard let draft else { throw .unavailable(.vault(.generationDoesNotOpen)) }
    if let merge { try draft.check(merge, against: base, &healing) } else { healing.isCounted = false }
    try draft.catchUp(tiers.session)
    try draft.close()
    let exchange = DatabaseExchange(stamp: Process.stamp)
    healing.aside = folder.contains(KeybagFile.database) ? path + "/" + exchange.aside : nil
    do throws(VaultError) {
      do throws(PosixError) { try exchange.publish(Vault.draftName, folder) } catch {
        throw VaultError(error, .database)
      }
      guard isSound(exchange.healed, folder) else { throw .unavailable(.of(.database, .vault(.copyUnreadable))) }
    } catch {
      exchange.withdraw(folder)
      throw error
    }
    do throws(PosixError) { try exchange.run(folder) } catch {
      guard !exchange.hasBegun(folder) else {
        isHealingUnfinished = true
        throw Vault.unfinished(.verbatim(error.description))
      }
      exchange.withdraw(folder)
      throw VaultError(error, .database)
    }
  }

  /// How the damaged database and the generation follow each other.
  private func order(
    of salvage: Salvage?, and base: Store, _ tiers: borrowing TierKeys, _ former: [FormerTiers]
  ) throws(VaultError) -> HealingMerge.Order {
    guard let salvage else { return .unknown }
    let generations = (
      damaged: try? openIndex(tiers.session, former, salvage.store).index.generation,
      base: try openIndex(tiers.session, former, base).index.generation
    )
    return try HealingMerge.order(of: salvage, and: base, generations: generations)
  }

  private static func removeDraft(_ folder: borrowing Folder) {
    for suffix in ["", "-wal", "-shm", "-journal"] { folder.remove(draftName + suffix) }
  }

  /// The draft as a vault that is unlocked; nil where these keys do not open it.
  private func unlockedDraft(_ tiers: borrowing TierKeys, _ former: [FormerTiers]) throws(VaultError) -> Vault? {
    let draft = Vault(
      home: home, owner: owner, machine: machine, service: service, databaseName: Vault.draftName)
    guard draft.hasDatabase else { return nil }
    do throws(VaultError) {
      try draft.takeOver(
        tiers.session, unlocked: try draft.chain(tiers.unlocked), former: former, liftingLocksOf: [],
        notesGenerations: false)
      return draft.isDamaged ? nil : draft
    } catch {
      guard error.isOfContent else { throw error }
      return nil
    }
  }

  /// In the draft: looks at all of it, and leaves one file with everything in its place.
  private func close() throws(VaultError) {
    guard try database.ready().isWhole else { throw .damaged(.of(.database, .vault(.copyDamaged))) }
    try database.ready().emptyLog()
    try database.ready().database.trust()
    forget()
  }

  /// In the draft: holds what came from the damaged file against the keys. A row that the keys do not open is replaced by the
  /// generation's, or deleted.
  private func check(
    _ merge: HealingMerge.Outcome, against base: Store, _ healing: inout Healing
  ) throws(VaultError) {
    var older = merge.older
    healing.lostNumbers = merge.lost
    (healing.dropped, healing.droppedCollections) = (merge.dropped, merge.droppedCollections)
    for id in merge.taken {
      guard let row = try database.ready().item(id), let item = try? reader.locate(row) else { continue }
      if try item.isGenuine(keys.index) {
        healing.newer += 1
      } else if let before = try base.item(id), keys.classKey(before.classKey) != nil {
        try database.writing { store throws(VaultError) in try store.update(before) }
        older.append(id)
      } else {
        try database.writing { store throws(VaultError) in _ = try store.deleteItem(id) }
        healing.lostNumbers.append(id)
      }
    }
    for id in older {
      guard let row = try database.ready().item(id), let item = try? reader.locate(row) else { continue }
      healing.older.append((try? item.openMetadata(keys.index))?.metadata.label ?? "")
      healing.olderNumbers.append(id)
    }
  }

  /// In the draft: gives it a generation that is newer than the remembered one, because it is not an older copy.
  private func catchUp(_ tier: borrowing Key) throws(VaultError) {
    let store = try database.ready()
    guard
      let remembered = try? device?.memory?.note(
        VaultGenerations(keybag: 0, database: 0), of: store.vault, isBeginning: false, until: Process.now + 2000)
    else { return }
    generation = max(generation, remembered.database)
    try raiseGeneration(HeldKey(try wrapOfIndex(tier)))
  }

  /// Does the rest of what a process began that ended: puts the database that it had healed in the place of the damaged one. A database
  /// that is whole by now stays, and the healed one goes.
  ///
  /// - Parameter deadline: how long to wait for another process that writes the vault's files, in milliseconds.
  /// - Returns: why that is not done; nil where nothing is left to do. Until then `vault.db` must not be opened: it may lack its log, and
  ///   what would be written into it would be put aside with it.
  func finishHealing(_ folder: borrowing Folder, deadline: Int) -> VaultError? {
    do throws(PosixError) {
      let names = try folder.names()
      let candidates = names.filter { DatabaseExchange.isHealed($0) && folder.hasOwnFile($0) }
      let hasDrafts = names.contains { $0.hasPrefix(Vault.draftName) || $0.hasPrefix(Salvage.name) }
      guard hasDrafts || !candidates.isEmpty else { return nil }
      var lock: FileDescriptor?
      do throws(PosixError) { lock = try KeybagFile.lock(folder, deadline: deadline) } catch {
        // A process that has it is at work on them.
        if error.code == EWOULDBLOCK { return Vault.unfinished(.vault(.otherWriter)) }
        // A draft alone changes nothing.
        return candidates.isEmpty ? nil : Vault.unfinished(.of(.keybagLock, .verbatim(error.description)))
      }
      defer { extendLifetime(lock) }
      if hasDrafts { Vault.removeDrafts(folder) }
      let healed = candidates.sorted(by: >).first { isSound($0, folder) }
      for other in candidates where other != healed {
        guard let begun = DatabaseExchange.begun(other, folder) else { continue }
        // It cannot be read any more. The damaged database gets its log back, and can be healed again.
        try begun.putBack(folder)
        try folder.remove([other])
      }
      guard let healed else {
        if case .whole = presentState(folder, .existing) { try folder.remove(candidates) }
        return nil
      }
      let exchange = DatabaseExchange.next(healed, folder)
      let hasBegun = DatabaseExchange.begun(healed, folder) != nil
      // Opening it would make another log.
      let state = presentState(folder, hasBegun ? .unchanging : .existing)
      switch state {
      case .whole where !hasBegun:
        try folder.remove(candidates)
        return nil
      case .unknown(let error): return error
      default: break
      }
      try exchange.run(folder)
      let wasKept = folder.contains(exchange.aside)
      var loss = state.loss
      if case .missing = state, wasKept { loss = .damaged }
      let healing = Healing(finishing: loss, aside: wasKept ? path + "/" + exchange.aside : nil)
      (self.healing, healingProblem) = (healing, nil)
      delegate?.wasHealed(healing)
      return nil
    } catch { return Vault.unfinished(.verbatim(error.description)) }
  }

  /// Why a healed database is not in its place.
  private static func unfinished(_ reason: Reason) -> VaultError {
    .unavailable(
      .both(.of(.database, .because(.vault(.healedNotInPlace), reason)), .vault(.unlockToTryAgain)))
  }

  /// The state of `vault.db` before anything is opened.
  private enum PresentState {
    case missing, damaged, foreign, whole
    /// Another process has it, a newer program made it, or it cannot be opened now.
    case unknown(VaultError)

    /// Its damage.
    var loss: Healing.Loss {
      switch self {
      case .missing: .missing
      case .foreign: .foreign
      default: .damaged
      }
    }
  }

  private func presentState(_ folder: borrowing Folder, _ mode: Database.Mode) -> PresentState {
    let name = KeybagFile.database
    guard folder.contains(name) else { return .missing }
    var header = [UInt8](repeating: 0, count: 100)
    do {
      _ = try header.withUnsafeMutableBufferPointer { buffer throws(PosixError) in
        try folder.read(name, into: UnsafeMutableRawBufferPointer(buffer))
      }
    } catch { return .unknown(VaultError(error, .database)) }
    let keybag: Keybag
    do throws(KeybagError) { keybag = try KeybagFile.load(from: folder) } catch {
      return .unknown(.damaged(.of(.keybag, error.reason)))
    }
    do throws(VaultError) {
      try Store.checkHeader(header)
      // With its log, into which nothing is written.
      return try Store(path: path + "/" + name, vault: keybag.vault, mode: mode).isWhole ? .whole : .damaged
    } catch {
      if case .damaged = error { return .damaged }
      return error == Store.foreign ? .foreign : .unknown(error)
    }
  }

  /// Whether the file is a whole database of this vault.
  private func isSound(_ name: String, _ folder: borrowing Folder) -> Bool {
    var header = [UInt8](repeating: 0, count: 100)
    let count = try? header.withUnsafeMutableBufferPointer { buffer throws(PosixError) in
      try folder.read(name, into: UnsafeMutableRawBufferPointer(buffer))
    }
    guard count != nil, (try? Store.checkHeader(header)) != nil, let keybag = try? KeybagFile.load(from: folder),
      let store = try? Store(path: path + "/" + name, vault: keybag.vault, mode: .unchanging)
    else { return false }
    return store.isWhole
  }
}

extension SealedItem {
  /// Whether the keys that are in memory open it, as far as they are.
  ///
  /// - Throws: errors that say nothing about the item, such as a lack of memory.
  func isGenuine(_ index: AttributeIndex?) throws(VaultError) -> Bool {
    do throws(VaultError) {
      guard let opened = try openMetadata(index) else { return true }
      _ = try control(opened.metadata)
      let itemKey = try itemKey(opened)
      if try !control(opened.metadata).needsPassphrase {
        _ = try openSecret(opened, itemKey, passphraseKey: nil).count
      }
      return true
    } catch {
      if case .damaged = error { return false }
      guard error.isOfContent else { throw error }
      return true
    }
  }
}

extension VaultError {
  /// Whether it says something of what was read. Where not, the same could go well another time.
  fileprivate var isOfContent: Bool {
    switch self {
    case .outOfMemory, .diskFull: false
    default: true
    }
  }
}
