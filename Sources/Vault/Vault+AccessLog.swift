import Keybag
import Posix
import SQLite
import Sodium

/// The access log: what became of questions about items that ask for something. It hangs on tier key C, so that it is
/// written behind the locked screen too, and nothing else of the vault hangs on it.
extension Vault {
  /// What the log says of an item. The label is left out where more than tier key C protects it: it would outlive what
  /// protects it, as with a collection's passphrase.
  public func logged(
    _ action: AccessEvent.Action, _ outcome: AccessEvent.Outcome, item id: Int64, caller: String
  ) -> AccessEvent {
    var event = AccessEvent(action, outcome, item: UInt64(clamping: id), caller: caller)
    guard let item = try? locate(id) else { return event }
    event.collection = UInt64(clamping: item.row.collection)
    if mayLogLabels(of: item.key.row.accessibility, in: item.row.collection), let opened = try? metadata(item) {
      event.label = opened.metadata.label
    }
    return event
  }

  /// Whether the log may have the label of such an item.
  public func mayLogLabels(of accessibility: AccessibilityClass, in collection: Int64) -> Bool {
    guard let place = open.first(where: { $0.row.id == collection }), place.passphrase == nil else { return false }
    return accessibility.metadataTier == .session || accessibility == .always
  }

  /// Notes what happened, in memory: ``writeAccessLog()`` writes it, later. While it cannot be written a few entries are
  /// kept, then they are only counted.
  public func log(_ event: AccessEvent) {
    // Many at once, as when a client goes that asked for many items: none is lost for that alone.
    if accessLog.isFull { writeAccessLog() }
    accessLog.add(event, at: Process.time)
  }

  /// Writes what was noted, if there is a key for it, and room on the disk. Else it stays in memory.
  public func writeAccessLog() {
    let new = accessLog.all
    guard !new.isEmpty, let key = accessLog.keys.first?.key, store != nil, !isDamaged else { return }
    // Nobody waits for this, and nobody is to hear that it failed: it is tried again.
    do throws(VaultError) {
      try writing { store throws(VaultError) in
        var previous = try lastLink(in: store)
        var id = try store.lastAccessLogID()
        guard id < Store.accessLogEnd else { throw .unavailable("vault.db: the access log has come to its end") }
        for entry in new {
          id += 1
          let content = AccessLogSeal.Content(previous: previous, event: entry.event)
          try store.insert(
            AccessLogSeal(vault: store.vault, key: key).seal(content, id: id, created: entry.created))
          previous = AccessLogSeal.link(content, id: id, created: entry.created)
        }
        try store.trimAccessLog()
      }
      accessLog.written()
    } catch {}
  }

  /// A part of the log, newest first.
  ///
  /// - Parameters:
  ///   - number: only entries before this one; 0 for the newest.
  ///   - limit: how many at most.
  /// - Throws: ``VaultError/isLocked``.
  public func accessLog(
    below number: UInt64, limit: Int
  ) throws(VaultError) -> (entries: [AccessLogEntry], hasMore: Bool) {
    guard isUnlocked else { throw .isLocked }
    writeAccessLog()
    return try reading { store throws(VaultError) in
      let rows = try store.accessLog(below: number == 0 ? .max : Int64(clamping: number), limit: limit + 1)
      let opened = rows.map { row in row.row.flatMap { open($0, in: store) } }
      let entries = rows.indices.prefix(limit).map { index in
        let (id, row) = rows[index]
        var entry = (missing: UInt64(0), isOutOfPlace: false)
        // The oldest ones go by themselves, so nothing is said of what was before the first.
        if rows.indices.contains(index + 1) {
          let before = rows[index + 1]
          entry.missing = before.id < id ? UInt64(bitPattern: id &- before.id &- 1) : 0
          if entry.missing == 0, let own = opened[index], let content = opened[index + 1], let row = before.row {
            entry.isOutOfPlace = AccessLogSeal.link(content, id: before.id, created: row.created) != own.previous
          }
        }
        return AccessLogEntry(
          number: UInt64(bitPattern: id), created: row?.created ?? 0, event: opened[index]?.event,
          missing: entry.missing, isOutOfPlace: entry.isOutOfPlace)
      }
      return (entries, rows.count > limit)
    }
  }

  /// Removes every entry. That this was done, and by whom, is the first one of what follows.
  ///
  /// - Returns: how many there were.
  /// - Throws: ``VaultError/isLocked``, and what keeps it from being written.
  @discardableResult
  public func clearAccessLog(for caller: String) throws(VaultError) -> UInt64 {
    guard isUnlocked, let key = accessLog.keys.first?.key else { throw .isLocked }
    writeAccessLog()
    let count = try writing { store throws(VaultError) in
      let count = try store.clearAccessLog()
      let id = try store.lastAccessLogID() + 1
      let event = AccessEvent(.log, .cleared, count: UInt32(clamping: count), caller: caller)
      let content = AccessLogSeal.Content(previous: AccessLogSeal.noLink, event: event)
      try store.insert(AccessLogSeal(vault: store.vault, key: key).seal(content, id: id, created: Process.time))
      return count
    }
    accessLog.written()
    // The entries are in the write-ahead log until it is emptied.
    settle()
    return UInt64(clamping: count)
  }

  // MARK: - keys

  private func open(_ row: AccessLogRow, in store: Store) -> AccessLogSeal.Content? {
    for (_, key) in accessLog.keys {
      if let content = AccessLogSeal(vault: store.vault, key: key).open(row) { return content }
    }
    return nil
  }

  /// The hash of the newest entry.
  private func lastLink(in store: Store) throws(VaultError) -> [UInt8] {
    guard let row = try store.accessLog(below: .max, limit: 1).first?.row, let content = open(row, in: store) else {
      return AccessLogSeal.noLink
    }
    return AccessLogSeal.link(content, id: row.id, created: row.created)
  }

  /// Takes the log's keys over, and seals anew what hangs on those of a former generation.
  ///
  /// Without those of every former generation the log waits where its newest entry does not open: what is added to it names
  /// the entry before.
  func openAccessLog(_ tier: borrowing Key, _ former: [FormerTiers]) throws(VaultError) {
    let vault = try ready().vault
    guard former.count + 1 >= keybag?.epochs.count ?? 1 else {
      accessLog.epoch = keybag?.epochs.first?.number ?? epoch
      do throws(SodiumError) { accessLog.keys = [(epoch, HeldKey(try tier.derive(.accessLog, [vault])))] } catch {
        throw .outOfMemory
      }
      if !continuesAccessLog { accessLog.keys = [] }
      return
    }
    do throws(SodiumError) {
      accessLog.keys = [(epoch, HeldKey(try tier.derive(.accessLog, [vault])))]
      for one in former.reversed() {
        accessLog.keys.append((one.number, HeldKey(try one.tiers.session.derive(.accessLog, [vault]))))
      }
    } catch { throw .outOfMemory }
    // An entry that cannot be written, or read, is no reason not to open what is there.
    do throws(VaultError) { try resealAccessLog() } catch {}
  }

  /// Whether an entry can be added: there is none before it, or the newest opens.
  private var continuesAccessLog: Bool {
    do throws(VaultError) {
      return try reading { store throws(VaultError) in
        guard let newest = try store.accessLog(below: .max, limit: 1).first else { return true }
        return newest.row.flatMap { open($0, in: store) } != nil
      }
    } catch { return false }
  }

  private func resealAccessLog() throws(VaultError) {
    // Until it is known better: nothing is to be let go of.
    accessLog.epoch = accessLog.keys.map(\.epoch).min() ?? epoch
    guard let newest = accessLog.keys.first, accessLog.keys.count > 1 else { return }
    var oldest = newest.epoch
    let outdated = try reading { store throws(VaultError) in
      var outdated: [AccessLogRow] = []
      for case (_, let row?) in try store.accessLog(below: .max, limit: Store.accessLogLimit.entries) {
        for (number, key) in accessLog.keys {
          guard let content = AccessLogSeal(vault: store.vault, key: key).open(row) else { continue }
          guard number != newest.epoch else { break }
          let seal = AccessLogSeal(vault: store.vault, key: newest.key)
          outdated.append(seal.seal(content, id: row.id, created: row.created))
          oldest = min(oldest, number)
          break
        }
      }
      return outdated
    }
    accessLog.epoch = oldest
    guard !outdated.isEmpty else { return }
    try writing { store throws(VaultError) in for row in outdated { try store.update(row) } }
    accessLog.epoch = newest.epoch
  }
}
