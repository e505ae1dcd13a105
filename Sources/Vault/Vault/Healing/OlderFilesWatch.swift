import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySodium

/// Checks whether the vault's files are the ones that were last used here, or older copies. The files alone do not show it, because
/// older copies of all files agree with each other. So the device key service remembers their generations.
public final class OlderFilesWatch {
  private struct State {
    /// The files of which an older copy was found.
    var found: OlderFiles = []
    /// The older files that were found at a login without a password. The service still remembers the former generations then.
    var compared: OlderFiles = []
    /// Why it is not known whether the files are older copies.
    var problem: Reason?
    /// The number of times that other work has interrupted the note since the vault got keys.
    var brokenOff = 0
    /// The key that seals the database's generation, while the note waits; nil if none waits.
    var waiting: HeldKey?
  }

  private let place: VaultPlace
  private let database: VaultDatabase
  private let keys: VaultKeys
  private let keybag: VaultKeybag
  private let device: VaultDevice
  private let rotation: VaultRotation
  weak var delegate: (any VaultDelegate)?
  private var state = State()

  init(
    _ place: VaultPlace, _ database: VaultDatabase, _ keys: VaultKeys, _ keybag: VaultKeybag, _ device: VaultDevice,
    _ rotation: VaultRotation
  ) {
    (self.place, self.database, self.keys) = (place, database, keys)
    (self.keybag, self.device, self.rotation) = (keybag, device, rotation)
  }

  /// The files that an older copy had replaced; until the session is over.
  public var found: OlderFiles { state.found }

  /// Why it is not known whether the files are older copies.
  var problem: Reason? { state.problem }

  /// Whether a note waits for the device key service.
  var isWaiting: Bool { state.waiting != nil }

  /// Erases the key that a waiting note needs: the vault is sealed.
  func seal() { state.waiting = nil }

  /// Forgets the report of older copies, because the session is over.
  func endSession() { (state.found, state.compared) = ([], []) }

  /// Forgets everything about the files, like a new object.
  func forget() { state = State() }

  // MARK: - notes

  /// The limit for all requests together, in milliseconds.
  private static let noteTimeout = 2000
  /// The number of times that other work may interrupt the request before the person is told. At a first login interruptions are
  /// usual, because many programs call the starting daemon.
  private static let noteTries = 5

  /// Asks for the remembered generations of the vault, and notes the present generations. Never delays an unlock.
  ///
  /// The database's generation grows only after an answer. If it grew earlier, an older copy, opened while the service is silent,
  /// would reach the remembered generation unseen.
  func noteGenerations(_ tier: borrowing Key) {
    state.brokenOff = 0
    do throws(VaultError) { note(under: HeldKey(try rotation.wrapOfIndex(tier))) } catch { state.problem = nil }
  }

  /// Notes the generations now, if the device key service did not answer when the vault got its keys.
  func noteAgain() {
    if let wrap = state.waiting { note(under: wrap) }
  }

  /// - Parameter wrap: the key that seals the database's generation.
  private func note(under wrap: HeldKey) {
    (state.problem, state.waiting) = (nil, device.isMissing ? wrap : nil)
    guard !place.isMemory, !database.isDamaged, keys.share != nil, let memory = device.key?.memory,
      let keybag = keybag.keybag, let store = database.store, let folder = try? place.folder()
    else { return }
    let deadline = Process.now + Self.noteTimeout
    var present = VaultGenerations(keybag: keybag.generation, database: keys.generation)
    do {
      // The files must survive a power cut with the generations that are remembered. The database's commits do.
      try folder.synchronize()
      let remembered = try memory.note(present, of: store.vault, isBeginning: false, until: deadline)
      let older = remembered.map { OlderFiles(present, remembered: $0) } ?? []
      // The older copies are reported before the note, except for the ones that a login without a password has reported.
      tell(older, besides: state.compared)
      state.compared = []
      try? raiseGeneration(wrap)
      present.database = keys.generation
      guard present != remembered else { return }
      _ = try memory.note(present, of: store.vault, isBeginning: !older.isEmpty, until: deadline)
    } catch {
      if noteFailed(error) { state.waiting = wrap }
    }
  }

  /// Asks for the remembered generations of the vault, and notes nothing, because these keys do not prove the keybag genuine. The
  /// keybag's generation is only a claim; the database's is sealed under those keys.
  func compareGenerations() {
    state.problem = nil
    guard !database.isDamaged, keys.share != nil, let memory = device.key?.memory, let keybag = keybag.keybag,
      let store = database.store
    else { return }
    do {
      let remembered = try memory.note(
        VaultGenerations(keybag: 0, database: 0), of: store.vault, isBeginning: false,
        until: Process.now + Self.noteTimeout)
      let present = VaultGenerations(keybag: keybag.generation, database: keys.generation)
      let older = remembered.map { OlderFiles(present, remembered: $0) } ?? []
      tell(older, besides: state.compared)
      state.compared.formUnion(older)
    } catch { noteFailed(error) }
  }

  private func tell(_ older: OlderFiles, besides told: OlderFiles) {
    state.found.formUnion(older)
    let new = older.subtracting(told)
    if !new.isEmpty { delegate?.foundOlder(new) }
  }

  /// - Returns: whether to try the request again.
  @discardableResult private func noteFailed(_ error: any Error) -> Bool {
    guard let error = error as? DeviceKeyError, case .unavailable(let reason) = error else { return false }
    if error == .brokenOff {
      state.brokenOff += 1
      if state.brokenOff < Self.noteTries { return true }
    }
    state.problem = .both(.of(DeviceKeyBackend.host.title, reason), .device(.generationUnknown))
    return true
  }

  /// Gives the database a generation that is newer than the remembered one, because it is not an older copy.
  func catchUp(_ tier: borrowing Key) throws(VaultError) {
    let store = try database.ready()
    guard
      let remembered = try? device.key?.memory?.note(
        VaultGenerations(keybag: 0, database: 0), of: store.vault, isBeginning: false,
        until: Process.now + Self.noteTimeout)
    else { return }
    keys.generation = max(keys.generation, remembered.database)
    try raiseGeneration(HeldKey(try rotation.wrapOfIndex(tier)))
  }

  private func raiseGeneration(_ wrap: HeldKey) throws(VaultError) {
    // Until a change of keys is complete, the row depends on the former keys.
    guard rotation.isThrough, keys.generation < .max, let index = keys.index else { return }
    let next = SealedIndex(index, generation: keys.generation + 1)
    try database.writing { store throws(VaultError) in
      var row = try store.vaultRow()
      row.indexKey = try next.sealed(under: wrap.key, vault: store.vault)
      try store.update(row)
    }
    keys.generation = next.generation
  }
}
