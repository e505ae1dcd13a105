import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySodium

/// The vault takes keys from a login, and opens everything that these keys open.
extension Vault {
  /// Whether these are the keys of this vault's keybag.
  public func recognises(
    _ tiers: borrowing TierKeys, former: [FormerTiers] = []
  ) throws(KeybagError) -> Bool {
    guard let keybag else { throw .missing }
    guard try keybag.recognises(tiers) else { return false }
    return try keybag.recognises(former)
  }

  /// Whether ``unlock(_:former:opening:liftingLocks:of:mayCreate:)`` could use these keys, without taking anything over: the files
  /// can be used, and the keys open something of the database. A keybag alone proves nothing: somebody could have written it
  /// together with keys of their own.
  public func check(
    _ tiers: borrowing TierKeys, former: [FormerTiers] = [], mayCreate: Bool
  ) throws(VaultError) {
    refresh(waiting: VaultHealing.lockTime)
    guard let store = database.store else {
      if healing.canHeal(tiers, former) { return }
      guard let keybag, database.problem == .notCreated, mayCreate || keybag.awaitsDatabase else {
        throw database.problem ?? .notCreated
      }
      return
    }
    do throws(VaultError) { _ = try rotation.openIndex(tiers.session, former, store) } catch {
      if healing.canHeal(tiers, former) { return }
      if case .damaged = error { throw .unavailable(.vault(.notTogether)) }
      throw error
    }
  }

  /// Takes keys over into memory. They must be this vault's: ``recognises(_:)``.
  ///
  /// - Parameters:
  ///   - former: the keys of former key epochs that the keybag still has, oldest first. If everything is unlocked, a rotation
  ///     begins or continues here: the keys that depend on former epochs move to the newest one.
  ///   - liftingLocks: whether explicit locks of collections end. A login unlocks in this way; an unlock of the screen does not.
  ///   - lockedExplicitly: the collections whose locks end; nil for all.
  ///   - mayCreate: whether a missing database is made. True only right after the keybag's creation.
  public func unlock(
    _ tiers: borrowing TierKeys, former: [FormerTiers] = [], opening: Opening, liftingLocks: Bool,
    of lockedExplicitly: Set<Int64>? = nil, mayCreate: Bool
  ) throws(VaultError) {
    try check(tiers, former: former, mayCreate: mayCreate)
    // Behind a locked screen not all keys may be in memory.
    if opening == .everything { healing.heal(self, tiers, former) }
    if database.store == nil, let keybag {
      guard database.problem == .notCreated else { throw database.problem ?? .notCreated }
      try create(keybag, tiers)
    }
    let lifted = liftingLocks ? lockedExplicitly ?? Set(collections.ids) : []
    try takeOver(
      tiers.session, unlocked: opening == .everything ? try collections.chain(tiers.unlocked) : nil, former: former,
      liftingLocksOf: lifted)
    if opening == .everything, liftingLocks, lockedExplicitly == nil || isPasswordless {
      try collections.openDeleted(tiers)
    }
  }

  /// Takes keys over. After a failure, no new key is in memory.
  ///
  /// - Parameters:
  ///   - unlocked: tier key A's chain; nil if only tier key C is taken over.
  ///   - notesGenerations: whether the files' generations are noted. True if the program that brings these keys has verified the
  ///     whole keybag.
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
    healing.noteUnlock()
    // Staged keys come twice: now and when they become live.
    if notesGenerations, wasSealed || unlocked != nil { olderFiles.noteGenerations(tier) }
  }

  private func takeOverAll(
    _ tier: borrowing Key, unlocked: KeyChain?, former: [FormerTiers], liftingLocksOf lifted: Set<Int64>
  ) throws(VaultError) {
    let store = try database.ready()
    let (opened, indexEpoch) = try rotation.openIndex(tier, former, store)
    let genuine = opened.index
    keys.generation = opened.generation
    rotation.meet(indexEpoch: indexEpoch)
    if let index = keys.index, try !index.isSame(as: genuine) {
      // The device's row was made without the password. The device's index may have missed items that exist.
      database.note(.damaged(.of(.database, .vault(.foreignDeviceRow))))
    }
    keys.index = genuine
    collections.nameAll()
    device.begin()
    try device.whereThereIsRoom { () throws(VaultError) in try device.settle() }
    for collection in keys.collections where collection.row.locked && lifted.contains(collection.row.id) {
      try collections.setExplicitLock(collection, false)
    }
    let epoch = rotation.epoch
    var session = try collections.chain(tier)
    let opensEverything = unlocked != nil
    let lacksFormer = former.count + 1 < keybag?.epochs.count ?? 1
    var unlocked = unlocked
    var formerChains: [(epoch: UInt32, unlocked: KeyChain?, session: KeyChain)] = []
    for one in former.reversed() {
      formerChains.append(
        (
          one.number, opensEverything ? try collections.chain(one.tiers.unlocked) : nil,
          try collections.chain(one.tiers.session)
        ))
    }
    for collection in keys.collections {
      do {
        var formerKeys: [OpenCollection.FormerKeys] = []
        for index in formerChains.indices where UInt64(formerChains[index].epoch) >= collection.row.epoch {
          try formerChains[index].session.skip(to: collection.row.ordinal)
          try formerChains[index].unlocked?.skip(to: collection.row.ordinal)
          formerKeys.append(
            OpenCollection.FormerKeys(
              epoch: formerChains[index].epoch,
              unlocked: try formerChains[index].unlocked?.next(uuid: collection.row.uuid),
              session: try formerChains[index].session.next(uuid: collection.row.uuid)))
        }
        try session.skip(to: collection.row.ordinal)
        try unlocked?.skip(to: collection.row.ordinal)
        let sessionKey = try session.next(uuid: collection.row.uuid)
        let unlockedKey = try unlocked?.next(uuid: collection.row.uuid)
        if collection.row.locked { continue }
        try collection.take(
          unlocked: unlockedKey, session: sessionKey, epoch: epoch, former: formerKeys, lacksFormer: lacksFormer,
          share: keys.share, vault: store.vault)
      } catch let error as VaultError { throw error } catch { throw .outOfMemory }
    }
    // Both chains must end at the same collection, even if the last collections were deleted after the other chain was made.
    if unlocked == nil, let other = keys.chains.unlocked {
      do { try session.skip(to: other.ordinal) } catch { throw .outOfMemory }
    }
    if let unlocked = unlocked ?? keys.chains.unlocked {
      keys.chains = .unlocked(unlocked, session: session)
    } else {
      keys.chains = .locked(session: session)
    }
    keys.ownLocks.lift(of: lifted)
    keys.heldEpochs = (keybag?.epochs ?? []).filter { one in
      one.number == epoch || former.contains { $0.number == one.number }
    }
    try accessLog.open(tier, former, newest: epoch, epochs: (keybag?.epochs ?? []).map(\.number))
    guard opensEverything, database.damage == nil else { return }
    try device.whereThereIsRoom { () throws(VaultError) in
      let wrap = HeldKey(try rotation.wrapOfIndex(tier))
      try renew(indexUnder: wrap)
      try collections.keepNames()
    }
  }

  /// Brings an unlocked vault's keys up to date: the erasable secret, class keys that were changed, and classes that are missing.
  ///
  /// - Parameter wrap: the key that wraps the index key from now on; nil if it is unknown.
  private func renew(indexUnder wrap: HeldKey?) throws(VaultError) {
    try passcode.endItems()
    if !isPasswordless { try passcode.renewErasable() }
    try rotation.renewKeys(indexUnder: wrap)
    // New keys came with a new share of the device, which has an erasable secret again.
    try passcode.endItems()
    try collections.makeMissingClasses()
  }

  // MARK: - the device key service

  /// Whether work is left for the moment when the device key service answers: ``meetDevice()``.
  public var waitsForDevice: Bool { device.isLacking || olderFiles.isWaiting }

  /// Opens everything that needs the device key, if the key is available only now. Does the work that an unlock left out, and notes
  /// the files' generations if the unlock could not.
  public func meetDevice() throws(VaultError) {
    if keybag == nil, keybagFile.problem == nil, database.store == nil, !isDamaged {
      device.forgetProblemBeforeCreation()
    } else {
      try openMissingDevice()
    }
    olderFiles.noteAgain()
  }

  private func openMissingDevice() throws(VaultError) {
    guard device.isLacking, let store = database.store, !isDamaged, let folder = try? place.folder() else { return }
    device.begin()
    if keys.chains.session == nil {
      try device.open(folder, mayCreate: false)
    } else {
      try device.whereThereIsRoom { () throws(VaultError) in try device.settle() }
    }
    guard keys.share != nil else { return }
    for collection in keys.collections where !collection.row.locked {
      try collection.open(share: keys.share, vault: store.vault)
    }
    guard isUnlocked else { return }
    // The unlock may have left out a change of keys. The index key must wait for the next unlock, because its wrapping key was
    // erased.
    try device.whereThereIsRoom { () throws(VaultError) in try renew(indexUnder: nil) }
  }

  /// Allows items that depend on a login password again: now if the vault is unlocked and the login has a password, else at the
  /// next unlock.
  public func startPasscodeItemsAnew() throws(VaultError) {
    guard isUnlocked, !isPasswordless else { return }
    try passcode.renewErasable()
    try collections.makeMissingClasses()
  }
}
