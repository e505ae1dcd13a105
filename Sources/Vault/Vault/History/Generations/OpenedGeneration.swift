import LatchkeyBackup
import LatchkeyKeybag
import LatchkeyReasons
import LatchkeySodium

/// An item in a generation.
struct PastItem {
  let sealed: SealedItem?
  let row: ItemRow
  /// The row of the item's collection in the generation.
  let collection: CollectionRow
  let accessibility: AccessibilityClass
  /// The item's label and attributes; nil while their key is not in memory.
  let opened: OpenedMetadata?
  /// Why the item cannot be brought back now; nil if it can.
  let obstacle: Reason?
}

/// A generation, read with the keys that the vault has in memory. Damage in it is not damage of the vault.
struct OpenedGeneration {
  let store: Store
  private let vault: Vault
  private let collections: [Int64: CollectionRow]
  private let classes: [Int64: ClassKeyRow]
  /// The collections of the vault that correspond to the generation's collections, by their numbers in the generation.
  private let homes: [Int64: OpenCollection]
  /// The collections that the vault does not have any more.
  private let deleted: [Int64: DeletedCollection]

  /// The reason why an item does not come back: it is about to be removed from all generations.
  static let tightened = Reason.item(.tightened)

  /// Opens the generation of that number.
  init(_ vault: Vault, number: UInt32) throws(VaultError) {
    guard let generation = vault.history.generations.first(where: { $0.number == number }) else {
      throw .unavailable(.noGeneration(number))
    }
    self.vault = vault
    do throws(VaultError) {
      store = try vault.history.open(generation, vault: try vault.database.ready().vault)
      let rows = try store.collections()
      let classes = try store.classKeys()
      var homes: [Int64: OpenCollection] = [:]
      var deleted: [Int64: DeletedCollection] = [:]
      for row in rows {
        homes[row.id] = vault.keys.collections.first { $0.row.uuid == row.uuid }
        if homes[row.id] == nil {
          deleted[row.id] = try DeletedCollection(row, classes.filter { $0.collection == row.id }, of: vault)
        }
      }
      (self.homes, self.deleted) = (homes, deleted)
      collections = Dictionary(rows.map { ($0.id, $0) }) { first, _ in first }
      self.classes = Dictionary(classes.map { ($0.id, $0) }) { first, _ in first }
    } catch { throw error.inGeneration(number) }
  }

  /// The number of items in the generation.
  func itemCount() throws(VaultError) -> Int64 { try store.itemCount() }

  /// Up to `limit` items with a number above `id`.
  func items(after id: Int64, limit: Int) throws(VaultError) -> [Int64] { try store.items(after: id, limit: limit) }

  /// The collection's label; empty if the label cannot be read.
  func label(of collection: CollectionRow) -> String {
    guard let index = vault.keys.index else { return "" }
    return (try? vault.collections.title(of: collection, index: index).label) ?? ""
  }

  /// The collection of the vault for an item; nil if that was deleted.
  func home(of item: PastItem) -> OpenCollection? { homes[item.row.collection] }

  /// The collection of that number, if the vault does not have that collection any more and it can come back.
  func deleted(_ collection: Int64) -> OpenCollection? {
    guard case .open(let found) = deleted[collection] else { return nil }
    return found
  }

  /// The deleted collections that wait for the password.
  var waiting: [CollectionRow] {
    deleted.compactMap { id, one in if case .waiting = one { collections[id] } else { nil } }
  }

  /// Whether an item's collection was deleted and cannot be read before the password comes.
  func isWaiting(_ item: PastItem) -> Bool {
    if case .waiting = deleted[item.row.collection] { true } else { false }
  }

  /// The tokens of a collection's aliases.
  func aliases(of collection: Int64) throws(VaultError) -> [[UInt8]] {
    try store.aliases().filter { $0.collection == collection }.map(\.token)
  }

  /// Reads an item.
  ///
  /// - Throws: ``VaultError/damaged(_:)`` if the item's row is damaged, or refers to missing rows.
  func item(_ id: Int64) throws(VaultError) -> PastItem {
    guard let row = try store.item(id), let collection = collections[row.collection],
      let classRow = classes[row.classKey], classRow.collection == row.collection
    else { throw .damaged(.generationItemDamaged(id)) }
    let accessibility = classRow.accessibility
    func result(_ obstacle: Reason?, _ sealed: SealedItem? = nil, _ opened: OpenedMetadata? = nil) -> PastItem {
      PastItem(
        sealed: sealed, row: row, collection: collection, accessibility: accessibility, opened: opened,
        obstacle: obstacle)
    }
    if let obstacle = deleted[row.collection]?.obstacle { return result(obstacle) }
    guard let home = homes[row.collection] ?? deleted(row.collection) else {
      throw .damaged(.generationItemDamaged(id))
    }
    if home.row.locked { return result(.item(.collectionLockedByItself)) }
    if home.needsPassphrase { return result(.item(.collectionWaits)) }
    guard let key = home.classes.first(where: { $0.row.uuid == classRow.uuid }) else {
      return result(
        accessibility == .whenPasscodeSetThisDeviceOnly
          ? .item(.destroyed) : .item(.classKeysGone))
    }
    // The class in the generation is not authenticated.
    guard key.row.accessibility == accessibility else { throw .damaged(.generationItemDamaged(id)) }
    let sealed = SealedItem(vault: store.vault, row: row, collection: home, key: key, share: vault.keys.share)
    guard let opened = try sealed.openMetadata(vault.keys.index) else {
      return result(sealed.absence.reason, sealed)
    }
    do throws(VaultError) { _ = try sealed.itemKey(opened) } catch {
      return result(error.reason, sealed, opened)
    }
    return result(nil, sealed, opened)
  }
}

extension VaultError {
  /// The error, for the file of a generation.
  func inGeneration(_ number: UInt32) -> VaultError {
    switch self {
    case .damaged, .unavailable: .unavailable(.generationUnreadable(number, reason))
    default: self
    }
  }
}
