import LatchkeyReasons

/// The vault's open database, and its problems. After damage was found, nothing is written any more.
final class VaultDatabase {
  private enum State {
    /// There is no usable database, for this reason; nil before the first look.
    case closed(VaultError?)
    /// A healed database waits to replace `vault.db`, which must not be opened until then. The reason says why it waits.
    case unfinished(VaultError)
    /// The rows, and the walk that verifies them; nil if nothing is left to verify.
    case open(Store, Verification?)
  }

  private var state = State.closed(nil)
  /// The damage that was found in the database. The note stays if the database is opened again.
  private(set) var damage: Reason?
  /// Called for the first damage that a call or the verification finds.
  weak var delegate: (any VaultDelegate)?

  /// The database's rows; nil while there is no usable database.
  var store: Store? {
    guard case .open(let store, _) = state else { return nil }
    return store
  }

  /// Why there is no usable database.
  var problem: VaultError? {
    switch state {
    case .closed(let problem): problem
    case .unfinished(let problem): problem
    case .open: nil
    }
  }

  /// Whether nobody has given a password yet.
  var isNotCreated: Bool { problem == .notCreated }

  /// Whether a healed database waits for its place.
  var isUnfinished: Bool {
    guard case .unfinished = state else { return false }
    return true
  }

  /// Uses an opened database, which is verified from now on.
  func open(_ store: Store) { state = .open(store, Verification(store)) }

  /// Uses a database that this program has just made: there is nothing to verify.
  func create(_ store: Store) {
    store.isVerified = true
    state = .open(store, nil)
  }

  /// Notes why there is no database. An open database stays.
  func lacks(_ problem: VaultError) {
    if store == nil { state = .closed(problem) }
  }

  /// Notes why a healed database cannot replace `vault.db`.
  func awaitsHealing(_ problem: VaultError) { state = .unfinished(problem) }

  /// Drops the damaged database. The file stays as it is.
  func abandon() {
    store?.database.leaveAlone()
    close()
  }

  func close() { state = .closed(nil) }

  /// Closes the database and forgets its problems, like a new object.
  func forget() {
    close()
    damage = nil
  }

  var isDamaged: Bool { damage != nil }

  /// The rows. Throws the reason if the rows cannot be read.
  func ready() throws(VaultError) -> Store {
    guard let store else { throw problem ?? .notCreated }
    return store
  }

  /// The rows, for a change. Throws after damage was found anywhere in them, and while the file is not in its place.
  func writable() throws(VaultError) -> Store {
    let store = try ready()
    noteCut()
    if let damage { throw .damaged(damage) }
    if let absence { throw absence }
    return store
  }

  /// Why nothing is stored while the file of the open database is not in its place; nil if the file is.
  var absence: VaultError? {
    guard store?.database.hasMoved == true else { return nil }
    return .unavailable(
      .of(.database, .vault(.moved)))
  }

  /// Runs a step on the database. Damage that it finds is noted.
  func reading<Result: ~Copyable>(_ body: (Store) throws(VaultError) -> Result) throws(VaultError) -> Result {
    let store = try ready()
    do throws(VaultError) { return try body(store) } catch {
      noteCut()
      note(error)
      throw error
    }
  }

  /// Runs a change of the database: when this returns, all of it is on the disk, or nothing.
  func writing<Result>(_ body: (Store) throws(VaultError) -> Result) throws(VaultError) -> Result {
    try writing(to: try writable(), body)
  }

  /// Does the same for a call that has checked the file before.
  ///
  /// - Parameter store: the result of this call's ``writable()``. If the call found damage since, the change is refused.
  func writing<Result>(
    to store: Store, _ body: (Store) throws(VaultError) -> Result
  ) throws(VaultError) -> Result {
    if let damage { throw .damaged(damage) }
    do throws(VaultError) { return try store.transaction { () throws(VaultError) in try body(store) } } catch {
      note(error)
      throw error
    }
  }

  /// Notes damage, after which nothing is written any more.
  func note(_ error: VaultError) {
    guard case .damaged(let reason) = error, damage == nil else { return }
    damage = reason
    store?.database.leaveAlone()
    delegate?.foundDamage()
  }

  /// Notes the damage of a file that somebody cut off.
  func noteCut() {
    if let store, store.isCut { note(.damaged(.of(.database, .vault(.cutOff)))) }
  }

  /// Moves the pages of the log into the file, and empties the log. A failure loses nothing; the next call tries again. No page is
  /// moved into a database that was not yet verified as a whole.
  ///
  /// - Returns: whether the log is empty.
  func settle() -> Bool {
    noteCut()
    guard !isDamaged, isVerified else { return false }
    do throws(VaultError) { try store?.emptyLog() } catch { return false }
    return true
  }

  // MARK: - verification

  /// Whether the whole database was verified since it was opened.
  var isVerified: Bool {
    if case .open(_, _?) = state { false } else { true }
  }

  /// Verifies a little more of the database. Damage is noted, and ends the walk.
  ///
  /// - Returns: whether there is more to verify.
  func verifyStep() -> Bool {
    guard case .open(let store, var walk?) = state else { return false }
    let hasMore: Bool
    do throws(VaultError) { hasMore = try walk.step() } catch {
      // The walk did not reach its end, so the remaining rows are not believed.
      note(.damaged(error.reason))
      if let store = self.store { state = .open(store, nil) }
      return false
    }
    state = .open(store, hasMore ? walk : nil)
    // Damage that was found meanwhile, such as a file that was cut off, may not show in SQLite's memory.
    if !hasMore, !isDamaged {
      store.isVerified = true
      store.database.trust()
    }
    return hasMore
  }
}
