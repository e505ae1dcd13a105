import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// Whether the vault's files are those that were open here last, or older copies of them. The files cannot tell, because
/// older copies of all of them agree with each other. So the device key service remembers their generations.
extension Vault {
  /// How long that may take together, in milliseconds.
  private static let noteTimeout = 2000
  /// How often it may be broken off for other work before a person hears of it. At a first login that is usual: the daemon
  /// starts, and everything there tells it something.
  private static let noteTries = 5

  /// Asks what is remembered of the vault, and notes how far it is now. Never stands in the way of an unlock.
  ///
  /// The database's generation grows only after an answer. If it did before, an older copy that was opened while nobody
  /// answered would catch up with what is remembered of the newer one, unseen.
  func noteGenerations(_ tier: borrowing Key) {
    notesBrokenOff = 0
    do throws(VaultError) { note(under: HeldKey(try wrapOfIndex(tier))) } catch { noteProblem = nil }
  }

  /// Notes it now, where nobody answered when keys came.
  func noteAgain() {
    if let waitingNote { note(under: waitingNote) }
  }

  /// - Parameter wrap: the key that seals the database's generation.
  private func note(under wrap: HeldKey) {
    (noteProblem, waitingNote) = (nil, deviceIsMissing ? wrap : nil)
    guard !home.isEmpty, !isDamaged, keys.share != nil, let memory = device?.memory, let keybag,
      let store = database.store,
      let folder = try? KeybagFile.folder(home: home, owner: owner)
    else { return }
    let deadline = Process.now + Vault.noteTimeout
    var present = VaultGenerations(keybag: keybag.generation, database: generation)
    do {
      // The files must survive a power cut with the generations that are remembered. The database's commits do.
      try folder.synchronize()
      let remembered = try memory.note(present, of: store.vault, isBeginning: false, until: deadline)
      let older = remembered.map { OlderFiles(present, remembered: $0) } ?? []
      // Said before it is forgotten; but for what was, as the session began without a password.
      tell(older, besides: comparedFiles)
      comparedFiles = []
      try? raiseGeneration(wrap)
      present.database = generation
      guard present != remembered else { return }
      _ = try memory.note(present, of: store.vault, isBeginning: !older.isEmpty, until: deadline)
    } catch {
      if noteFailed(error) { waitingNote = wrap }
    }
  }

  /// Asks what is remembered of the vault, and has nothing noted: for keys of which nobody has seen that the keybag around
  /// them is genuine. Its generation is only what it says; that of the database is sealed under those keys.
  func compareGenerations() {
    noteProblem = nil
    guard !isDamaged, keys.share != nil, let memory = device?.memory, let keybag, let store = database.store else {
      return
    }
    do {
      let remembered = try memory.note(
        VaultGenerations(keybag: 0, database: 0), of: store.vault, isBeginning: false,
        until: Process.now + Vault.noteTimeout)
      let present = VaultGenerations(keybag: keybag.generation, database: generation)
      let older = remembered.map { OlderFiles(present, remembered: $0) } ?? []
      tell(older, besides: comparedFiles)
      comparedFiles.formUnion(older)
    } catch { noteFailed(error) }
  }

  private func tell(_ older: OlderFiles, besides told: OlderFiles) {
    olderFiles.formUnion(older)
    let new = older.subtracting(told)
    if !new.isEmpty { delegate?.foundOlder(new) }
  }

  /// - Returns: whether it is to be tried again.
  @discardableResult private func noteFailed(_ error: any Error) -> Bool {
    guard let error = error as? DeviceKeyError, case .unavailable(let reason) = error else { return false }
    if error == .brokenOff {
      notesBrokenOff += 1
      if notesBrokenOff < Vault.noteTries { return true }
    }
    noteProblem =
      .both(.of(DeviceKeyBackend.host.title, reason), .device(.generationUnknown))
    return true
  }

  func raiseGeneration(_ wrap: HeldKey) throws(VaultError) {
    // While a change of keys is not through, the row depends on former ones.
    guard indexEpoch == epoch, generation < .max, let index = keys.index else { return }
    let next = SealedIndex(index, generation: generation + 1)
    try database.writing { store throws(VaultError) in
      var row = try store.vaultRow()
      row.indexKey = try next.sealed(under: wrap.key, vault: store.vault)
      try store.update(row)
    }
    generation = next.generation
  }

  /// Ends what is said of older copies and of healing: the session is over.
  public func forgetOlderFiles() {
    // Healing before a login is news in the session that begins with it.
    if wasUnlocked { (keybagHealing, healing, wasUnlocked) = (nil, nil, false) }
    (olderFiles, comparedFiles, healingProblem) = ([], [], nil)
  }
}
