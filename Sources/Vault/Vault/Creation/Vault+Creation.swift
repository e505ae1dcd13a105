import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// The creation of a vault's database.
extension Vault {
  /// The label of the collection that every vault has from the beginning.
  public static let firstLabel = "Login"
  /// The number of that collection.
  public static let firstCollection: Int64 = 1
  /// The aliases of that collection in a new vault.
  public static let firstAliases = ["default", "login"]

  /// When the vault was created, in seconds since 1970; nil if the time cannot be read.
  public var created: UInt64? { (try? database.store?.vaultRow())?.created }

  /// Makes the database of a vault that has none. The file gets its final name only when its whole content is on the disk. So after
  /// an interruption, there is either a whole database or none.
  func create(_ keybag: Keybag, _ tiers: borrowing TierKeys) throws(VaultError) {
    let folder = try place.openFolder()
    // If there is already a device key, it stays, because an older copy of the vault may depend on it.
    try device.open(folder, mayCreate: true)
    let draft = KeybagFile.database + ".new"
    folder.removeDatabase(draft)
    rotation.begin(keybag)
    do throws(VaultError) {
      // This makes the file with the right mode, because SQLite would let others read it. SQLite gives its log the same mode.
      do throws(PosixError) {
        _ = try FileDescriptor.open(draft, at: folder.number, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
      } catch { throw error.code == ENOSPC ? .diskFull : .unavailable(.of(.database, .verbatim(error.description))) }
      try fill(
        path + "/" + draft, vault: keybag.vault, tiers: tiers, label: Vault.firstLabel, aliases: Vault.firstAliases)
      if lastItemAside > 0 { try database.store?.beginItems(after: lastItemAside) }
      try finishDraft()
      do throws(PosixError) { try folder.rename(draft, to: KeybagFile.database) } catch {
        throw .unavailable(.of(.database, .verbatim(error.description)))
      }
    } catch {
      forget()
      database.lacks(.notCreated)
      folder.removeDatabase(draft)
      throw error
    }
    openDatabase(folder)
    if let problem = database.problem { throw problem }
  }

  /// Moves everything from the log into the file, and closes the file. Closing the connection alone would also do that, but would
  /// not report a failure.
  private func finishDraft() throws(VaultError) {
    try database.store?.emptyLog()
    database.store?.database.trust()
    forget()
  }

  /// Makes a database with one collection. If `file` is nil, the database is only in memory.
  func fill(
    _ file: String?, vault: [UInt8], tiers: borrowing TierKeys, label: String, aliases: [String]
  ) throws(VaultError) {
    let (index, wrap) = try VaultError.sodium(.vault(.indexKey)) { () throws(SodiumError) in
      (AttributeIndex(try Key.random()), HeldKey(try tiers.session.derive(.indexWrap, [vault])))
    }
    let sealed = try SealedIndex(index, generation: 0).sealed(under: wrap.key, vault: vault)
    database.create(
      try Store(creating: file, first: VaultRow(vault: vault, created: Process.time, indexKey: sealed)))
    keys.index = index
    var unlockedChain = try collections.chain(tiers.unlocked)
    var sessionChain = try collections.chain(tiers.session)
    // A vault is created even if its device key is not available now.
    try device.whereThereIsService { () throws(VaultError) in
      if !place.isMemory, let folder = try? place.folder() { try device.adopt(folder) }
    }
    _ = try collections.make(label: label, aliases: aliases, unlocked: &unlockedChain, session: &sessionChain)
  }
}
