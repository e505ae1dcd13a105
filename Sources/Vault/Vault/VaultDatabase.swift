import LatchkeyReasons

/// The vault's open database, and its problems. After damage was found, nothing is written any more.
final class VaultDatabase {
  /// Its rows; nil while there is no database that can be used.
  private(set) var store: Store?
  /// Why there is none.
  var problem: VaultError?
  /// The damage that was found in it, for a person.
  private(set) var damage: Reason?
  /// Told of the first damage that a call or the verification finds.
  weak var delegate: (any VaultDelegate)?
  private var verification: Verification?

  /// Uses an opened database, which is verified from now on.
  func open(_ store: Store) {
    (self.store, verification) = (store, Verification(store))
  }

  /// Uses a database that this program has just made: there is nothing to verify.
  func create(_ store: Store) { self.store = store }

  /// Drops the database, which was found damaged. The file stays as it is.
  func abandon() {
    store?.database.leaveAlone()
    close()
  }

  func close() { (store, verification) = (nil, nil) }

  /// Forgets what was wrong, too, as an object does that has just been made.
  func forget() {
    close()
    (problem, damage) = (nil, nil)
  }

  var isDamaged: Bool { damage != nil }

  /// The rows, or why there are none.
  func ready() throws(VaultError) -> Store {
    guard let store else { throw problem ?? .notCreated }
    return store
  }

  /// The rows for a change: refused once damage was found anywhere in them, and while the file is not in its place.
  func writable() throws(VaultError) -> Store {
    let store = try ready()
    noteCut()
    if let damage { throw .damaged(damage) }
    if let absence { throw absence }
    return store
  }

  /// Why nothing is stored where the file of the open database is not in its place; nil where it is.
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

  /// Runs a change of the database: all of it is on the disk when this returns, or nothing of it happened.
  func writing<Result>(_ body: (Store) throws(VaultError) -> Result) throws(VaultError) -> Result {
    let store = try writable()
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

  /// Moves what was written to its place in the file and empties the log. A failure loses nothing; the next call tries
  /// again. Nothing is moved into a database that was not yet verified as a whole.
  ///
  /// - Returns: whether the log is empty.
  func settle() -> Bool {
    noteCut()
    guard !isDamaged, isVerified else { return false }
    do throws(VaultError) { try store?.emptyLog() } catch { return false }
    return true
  }

  // MARK: - verification

  /// Whether the whole database was looked at since it was opened.
  var isVerified: Bool { verification?.isFinished ?? true }

  /// Looks at a little more of the database. Damage is noted, and ends the walk.
  ///
  /// - Returns: whether there is more to look at.
  func verifyStep() -> Bool {
    guard var walk = verification else { return false }
    do throws(VaultError) { try walk.step() } catch {
      // The walk did not reach its end, so the remaining rows are not believed.
      note(.damaged(error.reason))
      verification = nil
      return false
    }
    verification = walk
    // Damage that was found meanwhile may not show in SQLite's memory, as that of a file that was cut off.
    if walk.isFinished, !isDamaged { store?.database.trust() }
    return !walk.isFinished
  }
}
