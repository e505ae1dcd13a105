import LatchkeyBackup
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySodium

/// Goes through an unlocked vault, and returns its content as records of a backup, one at a time. Programs may change the vault
/// meanwhile. Each item is exported as it was at one moment.
public final class Export {
  private enum Stage {
    case beginning
    case collections
    case items
    case over
  }

  private let vault: Vault
  private let id: [UInt8]
  private let seal: BackupSeal?
  private let device: BackupDevice?
  private var stage = Stage.beginning
  /// The numbers of the collections in the backup.
  private var numbers: [Int64: UInt32] = [:]
  private var waiting: [Int64] = []
  /// Collections that were locked at the beginning. They are left out even if they are unlocked meanwhile.
  private var leftOut: Set<Int64> = []
  private var position: Int64 = 0
  private var batch: ArraySlice<Int64> = []

  /// The omitted items, and the numbers of the other items.
  public private(set) var report = ArchiveReport()
  /// The number of items that are done.
  public private(set) var done: UInt64 = 0
  /// The number of items at the beginning.
  public let total: UInt64

  /// Begins.
  ///
  /// - Parameter id: the backup's.
  /// - Throws: ``VaultError/isLocked`` unless the vault is unlocked.
  public init(_ vault: Vault, id: [UInt8]) throws(VaultError) {
    guard vault.isUnlocked else { throw .isLocked }
    self.vault = vault
    self.id = id
    total = UInt64(try vault.reader.itemCount())
    (device, seal) = try vault.device.makeBackupSeal(id: id)
    for collection in vault.keys.collections {
      if collection.isLockedByItself { try leaveOut(collection) } else { waiting.append(collection.row.id) }
    }
  }

  private func leaveOut(_ collection: OpenCollection) throws(VaultError) {
    let count = try vault.database.reading { store throws(VaultError) in try store.items(in: collection.row.id) }.count
    let label = try label(of: collection) ?? fallback(collection)
    let reason = collection.row.locked ? ItemReason.collectionLocked : .passphraseNotGiven
    leftOut.insert(collection.row.id)
    report.left += UInt64(count)
    report.lines.append(
      .init(.left, collection: label, reason: .both(.item(reason), .hasItems(count))))
  }

  /// A collection's label; nil if the label is damaged.
  private func label(of collection: OpenCollection) throws(VaultError) -> String? {
    do throws(VaultError) { return try vault.collections.info(of: collection.row.id).label } catch {
      guard case .damaged = error else { throw error }
      return nil
    }
  }

  private func fallback(_ collection: OpenCollection) -> String { "collection \(collection.row.id)" }

  /// Whether `name` names the collection; false if damage prevents an answer. A damaged vault must still get into a backup.
  private func isNamed(_ name: String, _ collection: OpenCollection) throws(VaultError) -> Bool {
    do throws(VaultError) { return try vault.collections.alias(name) == collection.row.id } catch {
      guard case .damaged = error else { throw error }
      return false
    }
  }

  /// The next record; nil after the last record, so that the end follows.
  ///
  /// - Throws: ``VaultError`` if the walk cannot continue. Errors of single items are in the report.
  public func next() throws(VaultError) -> BackupRecord? {
    guard vault.isUnlocked else { throw .isLocked }
    while true {
      switch stage {
      case .beginning:
        stage = .collections
        return .beginning(BackupBeginning(vault: try vault.database.ready().vault, device: device))
      case .collections:
        guard let next = waiting.first else {
          stage = .items
          continue
        }
        waiting.removeFirst()
        // Deleted meanwhile.
        guard let collection = try? vault.keys.collection(next) else { continue }
        return try record(of: collection)
      case .items:
        if batch.isEmpty {
          batch = try vault.database.reading { store throws(VaultError) in try store.items(after: position, limit: 64)
          }[...]
        }
        guard let next = batch.popFirst() else {
          stage = .over
          continue
        }
        position = next
        if let record = try item(next) { return record }
      case .over: return nil
      }
    }
  }

  private func record(of collection: OpenCollection) throws(VaultError) -> BackupRecord {
    let id = collection.row.id
    numbers[id] = UInt32(numbers.count)
    var aliases: BackupCollection.Aliases = []
    for (name, alias) in BackupCollection.Aliases.names where try isNamed(name, collection) { aliases.insert(alias) }
    let label = try label(of: collection)
    if label == nil {
      report.lines.append(.init(.left, collection: fallback(collection), reason: .item(.labelDamaged)))
    }
    return .collection(
      BackupCollection(
        uuid: collection.row.uuid, label: label ?? fallback(collection), aliases: aliases,
        hadPassphrase: collection.passphrase != nil, created: collection.row.created, name: collection.name))
  }

  /// The item's record; nil if the item is left out. If its collection was made meanwhile, the collection's record comes first.
  private func item(_ id: Int64) throws(VaultError) -> BackupRecord? {
    // The item was deleted meanwhile, or counted already.
    guard let place = try vault.database.reading({ store throws(VaultError) in try store.place(ofItem: id) }),
      !leftOut.contains(place.collection ?? 0)
    else { return nil }
    guard let home = place.collection, let collection = try? vault.keys.collection(home)
    else {
      report.add(.init(.left, collection: "", label: "item \(id)", reason: .of(.database, .itemWithoutCollection(id))))
      return nil
    }
    guard !collection.isLockedByItself else {
      report.add(line(.left, id, collection, reason: .item(.collectionLockedMeanwhile)))
      return nil
    }
    guard let number = numbers[home] else {
      position = id - 1
      batch = []
      return try record(of: collection)
    }
    done += 1
    do throws(VaultError) {
      let item = try vault.reader.locate(id)
      let accessibility = item.key.row.accessibility
      guard let sealing = accessibility.backupSealing else {
        report.add(line(.excluded, id, collection))
        return nil
      }
      // An item that another program put into the database is not read.
      guard item.row.form != .quarantined else { throw VaultError.foreignItem(id) }
      // A reader of the backup would not have to meet its requirements.
      guard item.row.access == nil else { throw VaultError.needsGrant }
      let record = try sealed(try vault.reader.exported(item), item, number, sealing)
      report.items += 1
      return .item(record)
    } catch {
      switch error {
      case .noSuchItem: return nil
      case .isLocked, .outOfMemory: throw error
      case .needsGrant:
        report.add(line(.left, id, collection, reason: .item(.requirements)))
        return nil
      default:
        report.add(line(.left, id, collection, reason: error.reason))
        return nil
      }
    }
  }

  private func sealed(
    _ exported: consuming ExportedItem, _ item: SealedItem, _ number: UInt32, _ sealing: BackupItem.Sealing
  ) throws(VaultError) -> BackupItem {
    let accessibility = item.key.row.accessibility
    var metadata = exported.metadata.encoded(revision: [UInt8](repeating: 0, count: 16))
    var secret = exported.takeSecret()
    if sealing != .none {
      guard let seal else { throw .unavailable(.item(.noDeviceKey)) }
      do throws(SodiumError) {
        secret = try seal.seal(secret: secret, accessibility, number: report.items, metadata: metadata)
      } catch { throw .outOfMemory }
      if sealing == .everything { metadata = seal.seal(metadata: metadata, accessibility, number: report.items) }
    }
    return BackupItem(
      collection: number, accessibility: accessibility, created: item.row.created, modified: item.row.modified,
      metadata: metadata, secret: secret)
  }

  private func line(
    _ outcome: ArchiveReport.Outcome, _ id: Int64, _ collection: OpenCollection, reason: Reason? = nil
  ) -> ArchiveReport.Line {
    let info = try? vault.reader.info(ofItem: id)
    return ArchiveReport.Line(
      outcome, collection: (try? vault.collections.info(of: collection.row.id).label) ?? fallback(collection),
      label: info?.metadata?.label ?? "item \(id)", accessibility: info?.accessibility, reason: reason)
  }
}

/// An item in its state at one moment.
struct ExportedItem: ~Copyable {
  let metadata: ItemMetadata
  private let secret: SecureBytes

  init(_ metadata: ItemMetadata, _ secret: consuming SecureBytes) {
    self.metadata = metadata
    self.secret = secret
  }

  consuming func takeSecret() -> SecureBytes { secret }
}

extension ItemReader {
  /// Label, attributes and secret of an item.
  func exported(_ item: SealedItem) throws(VaultError) -> ExportedItem {
    guard let opened = try metadata(item) else { throw item.absence }
    return ExportedItem(opened.metadata, try openSecret(item, opened))
  }
}

extension BackupCollection.Aliases {
  /// The names of collections that a backup knows. The vault has only a keyed hash of other aliases.
  static let names: [(String, BackupCollection.Aliases)] = [
    ("default", .standard), ("login", .login), ("portal", .portal),
  ]
}
