import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons

/// A vault's keybag, as far as it can be read. If it is damaged, missing or another vault's, it is replaced by its copy as soon
/// as anybody reads it.
final class VaultKeybag {
  private enum State {
    /// There is no keybag, and the vault expects none.
    case missing
    case present(Keybag)
    /// There should be a keybag, but no keybag can be used, for this reason.
    case unusable(Reason)
    /// The file has another keybag, with other keys. The session keeps the keybag from which its keys came.
    case replaced(Keybag, problem: Reason)

    var keybag: Keybag? {
      switch self {
      case .present(let keybag), .replaced(let keybag, problem: _): keybag
      case .missing, .unusable: nil
      }
    }

    var problem: Reason? {
      switch self {
      case .unusable(let problem), .replaced(_, problem: let problem): problem
      case .missing, .present: nil
      }
    }
  }

  private let place: VaultPlace
  private let database: VaultDatabase
  private let keys: VaultKeys
  private let history: History
  weak var delegate: (any VaultDelegate)?
  private var state = State.missing {
    didSet { keys.loginHasPassword = !isPasswordless }
  }
  /// The newest keybag of this vault that was read, also while there is none that can be used.
  private var known: Keybag?
  /// The healing of the keybag; nil after the end of the session in which it was announced.
  private(set) var healing: KeybagHealing?

  init(_ place: VaultPlace, _ database: VaultDatabase, _ keys: VaultKeys, _ history: History) {
    (self.place, self.database, self.keys, self.history) = (place, database, keys, history)
  }

  /// The keybag; nil if none can be used.
  var keybag: Keybag? { state.keybag }

  /// Why the keybag cannot be used, or why it is not the keybag in the file.
  var problem: Reason? { state.problem }

  /// Whether the keybag belongs to a login without a password.
  var isPasswordless: Bool { keybag?.isPasswordless ?? false }

  /// Forgets everything about the file, like a new object.
  func forget() { (state, known, healing) = (.missing, nil, nil) }

  /// Forgets the report of a healing.
  func forgetHealing() { healing = nil }

  // MARK: - reading

  /// The folder cannot be opened.
  ///
  /// - Returns: the problem of the database.
  func lacksFolder(_ error: KeybagError) -> VaultError {
    guard error != .missing else {
      state = .missing
      return .notCreated
    }
    state = .unusable(error.reason)
    return .unavailable(.of(.folder, error.reason))
  }

  /// Takes over the result of reading the file.
  ///
  /// - Returns: whether the keybag can be used, and whether the session's keys came with it.
  func take(_ found: Keybag) -> Bool {
    // The author of that file does not have this session's keys, so the session keeps the keybag from which its keys came.
    guard found.hasKeys(of: keys.heldEpochs) else {
      let problem = Reason.keybag(.otherKeys)
      state = keybag.map { .replaced($0, problem: problem) } ?? .unusable(problem)
      return false
    }
    state = .present(found)
    if let store = database.store, found.vault != store.vault {
      state = .unusable(.keybag(.otherDatabase))
      return true
    }
    if let known, known.vault == found.vault { tellChange(from: known, to: found) }
    known = found
    return true
  }

  /// Tells which protectors a person has added and removed.
  private func tellChange(from former: Keybag, to present: Keybag) {
    let (before, now) = (Self.chosen(former), Self.chosen(present))
    let added = now.filter { one in !before.contains { Self.isSame($0, one) } }
    let removed = before.filter { one in !now.contains { Self.isSame($0, one) } }
    guard !added.isEmpty || !removed.isEmpty else { return }
    delegate?.changedProtectors(added: added, removed: removed)
  }

  /// Passwords come and go by logins. The device key's protector comes and goes with them.
  private static func chosen(_ keybag: Keybag) -> [Protector] {
    keybag.protectors.filter { $0.kind != .password && $0.kind != .device }
  }

  /// Whether both are the same protector, perhaps with new keys. A keybag has at most one protector of a session, which new keys
  /// replace, and one of a finger.
  private static func isSame(_ one: Protector, _ other: Protector) -> Bool {
    guard one.kind == other.kind else { return false }
    switch one.kind {
    case .session: return true
    case .finger: return one.mayBeInMemory == other.mayBeInMemory
    case .password, .device, .recoveryCode, .securityKey: return one.id == other.id
    }
  }

  /// The keybag cannot be read, and there is no copy to replace it.
  ///
  /// - Parameter isExpected: whether there is a database that needs the keybag.
  /// - Returns: the problem of the database.
  func lacksFile(_ error: KeybagError, isExpected: Bool) -> VaultError {
    guard error != .missing || isExpected else {
      state = .missing
      return .notCreated
    }
    state = .unusable(error.reason)
    return .damaged(.of(.keybag, error.reason))
  }

  /// Reads the keybag. If the keybag must be healed, its copy replaces it first.
  func read(_ folder: borrowing Folder) -> Result<Keybag, KeybagError> {
    do throws(KeybagError) { return .success(try load(folder)) } catch { return .failure(error) }
  }

  private func load(_ folder: borrowing Folder) throws(KeybagError) -> Keybag {
    do throws(KeybagError) {
      let found = try KeybagFile.load(from: folder)
      guard found.vault != keybag?.vault, let copy = try? KeybagFile.copy(in: folder), isForeign(found, copy),
        heal(folder)
      else { return found }
    } catch {
      guard heal(folder) else { throw error }
    }
    return try KeybagFile.load(from: folder)
  }

  // MARK: - healing

  private func heal(_ folder: borrowing Folder) -> Bool {
    // A database under healing shares the vault's keybag, which the vault reads itself. This call does not wait for a helper that
    // writes, because the next call reads again.
    guard place.hasOwnDatabase else { return false }
    guard let healing = KeybagFile.heal(in: folder, deadline: 0, isForeign: { self.isForeign($0, $1) }) else {
      return false
    }
    self.healing = healing
    delegate?.wasHealed(healing)
    return true
  }

  /// Whether the database belongs to the copy's vault and not to the keybag's.
  private func isForeign(_ found: Keybag, _ copy: Keybag) -> Bool {
    copy.vault != found.vault && hasDatabase(of: copy.vault) && !hasDatabase(of: found.vault)
  }

  /// Whether the database belongs to that vault. If the database cannot be read, a generation shows its vault.
  private func hasDatabase(of vault: [UInt8]) -> Bool {
    if let store = database.store { return store.vault == vault }
    if (try? Store(path: place.databasePath, vault: vault, mode: .unchanging)) != nil { return true }
    return history.generations.contains { (try? history.open($0, vault: vault)) != nil }
  }
}
