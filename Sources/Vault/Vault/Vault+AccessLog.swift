import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySQLite
import LatchkeySodium

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
        var id = try store.lastAccessLogID()
        guard id < Store.accessLogEnd else { throw .unavailable("vault.db: the access log has come to its end") }
        for entry in new {
          id += 1
          try store.insert(
            AccessLogSeal(vault: store.vault, key: key).seal(entry.event, id: id, created: entry.created))
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
      let entries = rows.indices.prefix(limit).map { index in
        let (id, row) = rows[index]
        // The oldest ones go by themselves, so nothing is said of what was before the first.
        let before = rows.indices.contains(index + 1) ? rows[index + 1].id : id
        return AccessLogEntry(
          number: UInt64(bitPattern: id), created: row?.created ?? 0, event: row.flatMap { open($0, in: store) },
          missing: before < id ? UInt64(bitPattern: id &- before &- 1) : 0)
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
      try store.insert(AccessLogSeal(vault: store.vault, key: key).seal(event, id: id, created: Process.time))
      return count
    }
    accessLog.written()
    // The entries are in the write-ahead log until it is emptied.
    settle()
    return UInt64(clamping: count)
  }

  // MARK: - keys

  private func open(_ row: AccessLogRow, in store: Store) -> AccessEvent? {
    for (_, key) in accessLog.keys {
      if let event = AccessLogSeal(vault: store.vault, key: key).open(row) { return event }
    }
    return nil
  }

  /// Takes the log's keys over, and seals anew what depends on those of a former generation. Without those of every former
  /// generation, that waits for an unlock that brings them.
  func openAccessLog(_ tier: borrowing Key, _ former: [FormerTiers]) throws(VaultError) {
    let vault = try ready().vault
    guard former.count + 1 >= keybag?.epochs.count ?? 1 else {
      accessLog.epoch = keybag?.epochs.first?.number ?? epoch
      do throws(SodiumError) { accessLog.keys = [(epoch, HeldKey(try tier.derive(.accessLog, [vault])))] } catch {
        throw .outOfMemory
      }
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

  private func resealAccessLog() throws(VaultError) {
    // Until it is known better: nothing is to be let go of.
    accessLog.epoch = accessLog.keys.map(\.epoch).min() ?? epoch
    guard let newest = accessLog.keys.first, accessLog.keys.count > 1 else { return }
    var oldest = newest.epoch
    let outdated = try reading { store throws(VaultError) in
      var outdated: [AccessLogRow] = []
      for case (_, let row?) in try store.accessLog(below: .max, limit: Store.accessLogLimit.entries) {
        for (number, key) in accessLog.keys {
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
    accessLog.epoch = oldest
    guard !outdated.isEmpty else { return }
    try writing { store throws(VaultError) in for row in outdated { try store.update(row) } }
    accessLog.epoch = newest.epoch
  }
}
