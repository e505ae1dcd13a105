import LatchkeyAccessEvent
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySQLite
import LatchkeySodium

/// The access log: the outcomes of requests for items that require something. The log depends on tier key C, so that it is
/// written behind the locked screen too. Nothing else in the vault depends on the log.
public final class AccessLog {
  private let database: VaultDatabase
  private let keys: VaultKeys
  private let reader: ItemReader
  /// The keys: first the newest epoch's, then the keys of former epochs that entries may depend on. Empty before the first
  /// unlock.
  private(set) var held: [(epoch: UInt32, key: HeldKey)] = []
  /// The oldest epoch of tier keys that an entry depends on.
  private(set) var epoch: UInt32 = 1
  /// The entries that are not written yet.
  private(set) var unwritten = UnwrittenAccessLog()

  init(_ database: VaultDatabase, _ keys: VaultKeys, _ reader: ItemReader) {
    self.database = database
    self.keys = keys
    self.reader = reader
  }

  // MARK: - writing

  /// An entry about an item. It has no label if more than tier key C protects the label, for example a collection's passphrase. In
  /// the log, the label would lose that protection.
  public func event(
    _ action: AccessEvent.Action, _ outcome: AccessEvent.Outcome, item id: Int64, caller: String
  ) -> AccessEvent {
    var event = AccessEvent(action, outcome, item: UInt64(clamping: id), caller: caller)
    guard let item = try? reader.locate(id) else { return event }
    event.collection = UInt64(clamping: item.row.collection)
    if mayHaveLabels(of: item.accessibility, in: item.row.collection), let opened = try? reader.metadata(item) {
      event.label = opened.metadata.label
    }
    return event
  }

  /// Whether the log may have the labels of items of this class and collection.
  public func mayHaveLabels(of accessibility: AccessibilityClass, in collection: Int64) -> Bool {
    guard let place = try? keys.collection(collection), place.passphrase == nil else { return false }
    return accessibility.metadataTier == .session || accessibility == .always
  }

  /// Notes an event in memory; ``write()`` writes it later. While it cannot write, a few entries are kept, and further entries are
  /// only counted.
  public func add(_ event: AccessEvent) {
    // Notes many events at once, for example when a client ends that asked for many items. No event is lost only because there
    // are many.
    if unwritten.isFull { write() }
    unwritten.add(event, at: Process.time)
  }

  /// Writes the noted entries if there is a key for them, and room on the disk. Without both, the entries stay in memory.
  public func write() {
    let new = unwritten.all
    guard !new.isEmpty, let key = held.first?.key, database.store != nil, !database.isDamaged else { return }
    // No caller waits for this. A failure is not reported, because the next call tries again.
    do throws(VaultError) {
      try database.writing { store throws(VaultError) in
        let table = AccessLogTable(store: store)
        var id = try table.lastID()
        for entry in new {
          id += 1
          try table.insert(
            AccessLogSeal(vault: store.vault, key: key).seal(entry.event, id: id, created: entry.created))
        }
        try table.trim()
      }
      unwritten = UnwrittenAccessLog()
    } catch {}
  }

  /// Removes every entry. The next entry says that the log was cleared, and by whom.
  ///
  /// - Returns: the number of removed entries.
  /// - Throws: ``VaultError/isLocked``, and errors that prevent writing.
  @discardableResult
  public func clear(for caller: String) throws(VaultError) -> UInt64 {
    guard keys.isUnlocked, let key = held.first?.key else { throw .isLocked }
    write()
    let count = try database.writing { store throws(VaultError) in
      let table = AccessLogTable(store: store)
      let count = try table.clear()
      let id = try table.lastID() + 1
      let event = AccessEvent(.log, .cleared, count: UInt32(clamping: count), caller: caller)
      try table.insert(AccessLogSeal(vault: store.vault, key: key).seal(event, id: id, created: Process.time))
      return count
    }
    unwritten = UnwrittenAccessLog()
    // The write-ahead log has the entries until it is emptied.
    _ = database.settle()
    return UInt64(clamping: count)
  }

  // MARK: - reading

  /// A part of the log, newest first.
  ///
  /// - Parameters:
  ///   - number: only entries before this entry; 0 for the newest.
  ///   - limit: the most entries to return.
  /// - Throws: ``VaultError/isLocked``.
  public func entries(
    below number: UInt64, limit: Int
  ) throws(VaultError) -> (entries: [AccessLogEntry], hasMore: Bool) {
    guard keys.isUnlocked else { throw .isLocked }
    write()
    return try database.reading { store throws(VaultError) in
      let rows = try AccessLogTable(store: store).rows(
        below: number == 0 ? .max : Int64(clamping: number), limit: limit + 1)
      let entries = rows.indices.prefix(limit).map { index in
        let (id, row) = rows[index]
        // The daemon removes the oldest entries, so a gap before the first entry is not reported.
        let before = rows.indices.contains(index + 1) ? rows[index + 1].id : id
        return AccessLogEntry(
          number: UInt64(bitPattern: id), created: row?.created ?? 0, event: row.flatMap { open($0, in: store) },
          missing: before < id ? UInt64(bitPattern: id &- before &- 1) : 0)
      }
      return (entries, rows.count > limit)
    }
  }

  private func open(_ row: AccessLogRow, in store: Store) -> AccessEvent? {
    for (_, key) in held {
      if let event = AccessLogSeal(vault: store.vault, key: key).open(row) { return event }
    }
    return nil
  }

  // MARK: - keys

  /// Takes over the log's keys, and seals the entries of former epochs with the newest key. If the keys of a former epoch are
  /// missing, this waits for an unlock that brings them.
  ///
  /// - Parameters:
  ///   - tier: tier key C of the epoch `newest`.
  ///   - epochs: the numbers of every epoch that the keybag has, oldest first.
  func open(
    _ tier: borrowing Key, _ former: [FormerTiers], newest: UInt32, epochs: [UInt32]
  ) throws(VaultError) {
    let vault = try database.ready().vault
    let isComplete = former.count + 1 >= max(epochs.count, 1)
    if !isComplete { epoch = epochs.first ?? newest }
    do throws(SodiumError) {
      held = [(newest, HeldKey(try tier.derive(.accessLog, [vault])))]
      guard isComplete else { return }
      for one in former.reversed() {
        held.append((one.number, HeldKey(try one.tiers.session.derive(.accessLog, [vault]))))
      }
    } catch { throw .outOfMemory }
    // An entry that cannot be written or read must not prevent the unlock.
    do throws(VaultError) { try reseal() } catch {}
  }

  private func reseal() throws(VaultError) {
    // Until all entries are sealed with the newest key, the log may depend on the oldest epoch. So no key is dropped before.
    epoch = held.map(\.epoch).min() ?? epoch
    guard let newest = held.first, held.count > 1 else { return }
    var oldest = newest.epoch
    let outdated = try database.reading { store throws(VaultError) in
      var outdated: [AccessLogRow] = []
      for case (_, let row?) in try AccessLogTable(store: store).rows(below: .max, limit: AccessLogTable.limit.entries)
      {
        for (number, key) in held {
          guard let event = AccessLogSeal(vault: store.vault, key: key).open(row) else { continue }
          guard number != newest.epoch else { break }
          let seal = AccessLogSeal(vault: store.vault, key: newest.key)
          outdated.append(seal.seal(event, id: row.id, created: row.created))
          oldest = min(oldest, number)
          break
        }
      }
      return outdated
    }
    epoch = oldest
    guard !outdated.isEmpty else { return }
    try database.writing { store throws(VaultError) in
      for row in outdated { try AccessLogTable(store: store).update(row) }
    }
    epoch = newest.epoch
  }

  /// Erases the keys: the vault is sealed.
  func seal() { held = [] }

  /// Forgets everything when the database is closed.
  func forget() { (held, epoch, unwritten) = ([], 1, UnwrittenAccessLog()) }
}
