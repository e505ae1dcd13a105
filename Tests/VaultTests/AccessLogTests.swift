import LatchkeyAccessEvent
import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySQLite
import LatchkeySodium
import Testing

@testable import LatchkeyVault

/// The vault's access log. The daemon's tests cover which events get into the log.
@Suite("The access log")
struct AccessLogTests {
  let home: Home
  let vault: Vault

  init() throws {
    home = try Home()
    vault = try home.unlocked()
    vault.settleWhole()
  }

  static func event(_ number: Int, _ outcome: AccessEvent.Outcome = .ended(.granted)) -> AccessEvent {
    AccessEvent(.open, outcome, collection: 1, item: UInt64(number), label: "Bank \(number)", caller: "mail")
  }

  /// Writes one entry for each number.
  func write(_ numbers: some Sequence<Int>, to vault: Vault? = nil) {
    for number in numbers {
      (vault ?? self.vault).accessLog.add(Self.event(number))
      (vault ?? self.vault).accessLog.write()
    }
  }

  /// All entries, the oldest first.
  func read(_ vault: Vault? = nil) throws -> [AccessLogEntry] {
    let vault = vault ?? self.vault
    var found: [AccessLogEntry] = []
    while true {
      let page = try vault.accessLog.entries(below: found.last?.number ?? 0, limit: 7)
      found += page.entries
      if !page.hasMore { return found.reversed() }
    }
  }

  /// The numbers of the items; nil for a damaged entry.
  func items(_ vault: Vault? = nil) throws -> [Int?] {
    try read(vault).map { $0.event.map { Int($0.item) } }
  }

  /// Whether the log has no damaged or missing entry.
  func isWhole(_ vault: Vault? = nil) throws -> Bool {
    try read(vault).allSatisfy { $0.event != nil && $0.missing == 0 }
  }

  func rows(_ vault: Vault? = nil) throws -> [AccessLogRow] {
    let table = AccessLogTable(store: try #require((vault ?? self.vault).database.store))
    return try table.rows(below: .max, limit: 5000).compactMap(\.row).reversed()
  }

  /// Changes the database while no daemon runs.
  func alter(_ home: Home, _ change: (Store) throws -> Void) throws {
    try change(try Store(path: home.folder + "/" + KeybagFile.database, vault: home.keybag.vault))
  }

  func put(_ row: AccessLogRow, _ store: Store) throws {
    try store.database.statement("INSERT OR REPLACE INTO access_log VALUES (?, ?, ?, ?)")
      .bind(1, row.id).bind(2, Int64(bitPattern: row.created)).bind(3, row.entry).bind(4, row.checksum).run()
  }

  @Test("The access log is read as it was written, in any number of parts, and by the next daemon too")
  func written() throws {
    #expect(try read().isEmpty)
    write(1...20)
    let entries = try read()
    #expect(entries.map(\.number) == Array(1...20) && entries.map(\.event) == (1...20).map { Self.event($0) })
    #expect(try isWhole())
    let copy = try Home(copying: home)
    let again = try copy.unlocked()
    #expect(try read(again) == entries)
    write(21...22, to: again)
    #expect(try items(again) == Array(1...22) && isWhole(again))
  }

  @Test("The access log reveals nothing without keys")
  func sealed() throws {
    write([1])
    vault.settle()
    #expect(!home.contents.values.contains { contains($0, Array("Bank".utf8)) || contains($0, Array("mail".utf8)) })
    vault.lock()
    #expect(throws: VaultError.isLocked) { try read() }
    #expect(throws: VaultError.isLocked) { try vault.accessLog.clear(for: "") }
    vault.seal()
    #expect(throws: VaultError.isLocked) { try read() }
    #expect(vault.accessLog.held.isEmpty)
  }

  @Test("The access log is written while the screen is locked; before the first unlock, a few entries wait in memory")
  func waiting() throws {
    vault.lock()
    write([1])
    #expect(try rows().count == 1)
    vault.seal()
    write(2...(UnwrittenAccessLog.limit + 6))
    #expect(try rows().count == 1)
    try home.unlock(vault)
    vault.accessLog.write()
    let entries = try read()
    #expect(entries.count == UnwrittenAccessLog.limit + 2)
    #expect(entries.last?.event == AccessEvent(.log, .lost, count: 5))
    #expect(entries.dropLast().map { $0.event?.item } == (1...UInt64(UnwrittenAccessLog.limit + 1)).map { $0 })
    #expect(try isWhole())
    write([100])
    #expect(try read().last?.event == Self.event(100), "and it is said once")
  }

  @Test("The access log keeps every entry of many events at once")
  func burst() throws {
    for number in 1...300 { vault.accessLog.add(Self.event(number)) }
    vault.accessLog.write()
    #expect(try items() == Array(1...300) && isWhole())
  }

  @Test("The access log is bounded by number and by size; the oldest entries go")
  func bounded() throws {
    let limit = AccessLogTable.limit
    for number in 1...(limit.entries + 40) {
      vault.accessLog.add(AccessEvent(.open, .used, collection: 1, item: UInt64(number)))
      if number % 50 == 0 { vault.accessLog.write() }
    }
    vault.accessLog.write()
    #expect(try items() == Array(41...(limit.entries + 40)) && isWhole())
    let long = String(repeating: "ä", count: 500)
    for number in 1...600 {
      vault.accessLog.add(AccessEvent(.open, .used, collection: 1, item: UInt64(number), label: long, caller: long))
      if number % 50 == 0 { vault.accessLog.write() }
    }
    let entries = try read()
    let size = try rows().reduce(0) { $0 + $1.entry.count }
    #expect(size <= limit.bytes && size > limit.bytes - 1000 && entries.last?.event?.item == 600)
    #expect(try isWhole())
    #expect(entries.last?.event?.label == String(repeating: "ä", count: 127))
    vault.settle()
    #expect(!home.names.contains { home.read($0).count > 4 << 20 })
  }

  @Test("The access log is cleared on request, and the clearing itself is logged")
  func cleared() throws {
    write(1...5)
    let before = try rows()
    #expect(try vault.accessLog.clear(for: "latchkey") == 5)
    #expect(try read().map(\.event) == [AccessEvent(.log, .cleared, count: 5, caller: "latchkey")])
    #expect(try read().map(\.number) == [6], "numbers never come again")
    for row in before {
      #expect(!home.contents.values.contains { contains($0, Array(row.entry.dropFirst(24).prefix(32))) })
    }
    write([7])
    #expect(try items() == [0, 7] && isWhole())
  }

  @Test("of a row that was altered, moved or exchanged only that one is damaged", arguments: 0..<7)
  func altered(_ way: Int) throws {
    write(1...6)
    vault.settle()
    let rows = try rows()
    let secret = try vault.add(["n": "x"], "secret")
    let copy = try Home(copying: home)
    try alter(copy) { store in
      switch way {
      // The row gets a valid check sum, or none.
      case 0: try store.database.statement("UPDATE access_log SET created = created + 1 WHERE id = 3").run()
      case 1: try put(AccessLogRow(id: 3, created: rows[2].created + 1, entry: rows[2].entry), store)
      case 2: try put(AccessLogRow(id: 3, created: rows[2].created, entry: Array(rows[2].entry.reversed())), store)
      case 3: try put(AccessLogRow(id: 3, created: rows[2].created, entry: []), store)
      case 4: try put(AccessLogRow(id: 3, created: rows[2].created, entry: rows[4].entry), store)
      case 5: try put(AccessLogRow(id: 3, created: rows[2].created, entry: Array(rows[2].entry.dropLast())), store)
      default: try store.database.statement("UPDATE access_log SET checksum = x'00' WHERE id = 3").run()
      }
    }
    let again = try copy.unlocked()
    #expect(try items(again) == [1, 2, nil, 4, 5, 6])
    #expect(try read(again).allSatisfy { $0.missing == 0 })
    // The damaged entry harms nothing else in the vault.
    #expect(try again.secretText(secret) == "secret")
    again.verifyToEnd()
    #expect(again.problemTexts.isEmpty)
    write([7], to: again)
    #expect(try items(again) == [1, 2, nil, 4, 5, 6, 7])
    #expect(try again.accessLog.clear(for: "") == 7)
  }

  @Test("shows where entries are missing in between")
  func missing() throws {
    write(1...9)
    vault.settle()
    let copy = try Home(copying: home)
    try alter(copy) { store in
      try store.database.execute("DELETE FROM access_log WHERE id IN (3, 4, 7)")
    }
    let again = try copy.unlocked()
    #expect(try read(again).map(\.missing) == [0, 0, 2, 0, 1, 0])
    #expect(try items(again) == [1, 2, 5, 6, 8, 9])
  }

  @Test("The access log reads entries of earlier programs, which have a hash in front of the event")
  func earlierEntries() throws {
    write([1])
    vault.settle()
    let copy = try Home(copying: home)
    let key = try #require(vault.accessLog.held.first?.key)
    var plain = ByteWriter(capacity: 128)
    plain.put((0..<16).map { UInt8($0) })
    Self.event(2).encode(into: &plain)
    plain.put([UInt8](repeating: 0, count: 64 - plain.bytes.count % 64))
    var associated = ByteWriter(capacity: 64)
    associated.text("latchkey/1/access-log")
    associated.put(home.keybag.vault)
    associated.number(UInt64(2))
    associated.number(UInt64(7))
    let sealed = AEAD.seal(plain.bytes.span.bytes, key: key.key, associated: associated.bytes)
    try alter(copy) { store in try put(AccessLogRow(id: 2, created: 7, entry: sealed), store) }
    let again = try copy.unlocked()
    #expect(try items(again) == [1, 2] && isWhole(again))
  }

  @Test("The access log is not blocked for ever by entries with forged high numbers")
  func numbers() throws {
    write([1])
    vault.settle()
    for change in [
      "UPDATE sqlite_sequence SET seq = 9223372036854775807 WHERE name = 'access_log'",
      "INSERT INTO access_log VALUES (9223372036854775807, 0, x'00', x'00')",
      "INSERT INTO access_log VALUES (-5, 0, x'00', x'00')", "UPDATE sqlite_sequence SET seq = 'x'",
      "DELETE FROM sqlite_sequence WHERE name = 'access_log'",
    ] {
      let copy = try Home(copying: home)
      try alter(copy) { store in try store.database.execute(change) }
      let again = try copy.unlocked()
      write([2], to: again)
      _ = try read(again)
      #expect(try items(again).contains(1))
      try again.accessLog.clear(for: "")
      write([3], to: again)
      #expect(try items(again).suffix(2) == [0, 3], "\(change)")
      #expect(!again.isDamaged || change.contains("'x'"))
    }
  }

  @Test("The access log is sealed again under new keys, and no entry opens with the former keys")
  func rotated() throws {
    write(1...5)
    let before = try read()
    vault.settle()
    let former = try rows()
    let old = vault.accessLog.held
    let seal = AccessLogSeal(vault: home.keybag.vault, key: try #require(old.first?.key))
    #expect(former.allSatisfy { seal.open($0) != nil })
    try home.rotate(vault)
    #expect(vault.rotation.neededEpoch == 2)
    #expect(try read() == before && isWhole())
    #expect(try rows().allSatisfy { seal.open($0) == nil })
    write([6])
    vault.settleWhole()
    let again = try Home(copying: home).reopened()
    #expect(again.accessLog.held.count == 1)
    #expect(try items(again) == Array(1...6) && isWhole(again))
  }

  @Test("former keys are kept for as long as an entry needs them")
  func interrupted() throws {
    write([1])
    vault.settle()
    let rows = try rows()
    try home.rotate(vault)
    #expect(vault.rotation.neededEpoch == 2)
    let next = try home.rotateKeybag()
    try home.unlock(vault, next)
    while try vault.rotation.step() {}
    #expect(vault.rotation.neededEpoch == 3)
    // The second change of keys did not reach the log.
    let copy = try Home(copying: home)
    let sealed = AccessLogSeal(vault: home.keybag.vault, key: try #require(vault.accessLog.held.dropFirst().first?.key))
    try alter(copy) { store in try put(sealed.seal(Self.event(1), id: 1, created: rows[0].created), store) }
    do {
      let again = copy.vault()
      try copy.unlock(again, next)
      #expect(try items(again) == [1])
      #expect(again.rotation.neededEpoch == 3)
    }
    // If the log cannot be written, its entries can still be read.
    try alter(copy) { store in try put(sealed.seal(Self.event(1), id: 1, created: rows[0].created), store) }
    let full = copy.vault()
    full.database.note(.damaged(.verbatim("vault.db: for the sake of this test")))
    try copy.unlock(full, next)
    #expect(try items(full) == [1])
    #expect(full.rotation.neededEpoch == 2)
  }

  @Test("The access log has the labels that the login protects, and no other labels")
  func labels() throws {
    for accessibility in AccessibilityClass.allCases {
      let id = try vault.add(["n": accessibility.name], "secret", accessibility, label: "the label")
      let event = vault.accessLog.event(.open, .ended(.granted), item: id, caller: "mail")
      let isKept = ![.alwaysThisDeviceOnly, .whenPasscodeSetThisDeviceOnly].contains(accessibility)
      #expect(event.label == (isKept ? "the label" : ""))
      #expect(event.item == UInt64(id) && event.collection == 1 && event.caller == "mail")
    }
    let collection = try vault.collections.create(label: "Private")
    let id = try vault.add(["n": "x"], "secret", label: "the label", in: collection)
    #expect(vault.accessLog.event(.open, .ended(.granted), item: id, caller: "").label == "the label")
    let key = try Key(copying: [UInt8](repeating: 1, count: 32).span.bytes)
    try vault.collections.setPassphrase(of: collection, key: key, .make())
    #expect(vault.accessLog.event(.open, .ended(.granted), item: id, caller: "").label.isEmpty)
    #expect(vault.accessLog.event(.open, .ended(.granted), item: 9999, caller: "").label.isEmpty)
  }

  @Test("The access log is not written in a damaged vault, but can be read there")
  func damaged() throws {
    write([1])
    vault.database.note(.damaged(.verbatim("vault.db: for the sake of this test")))
    write([2])
    #expect(try items() == [1])
    #expect(try rows().count == 1)
  }
}

@Suite("An entry of the access log") struct AccessLogSealTests {
  @Test("An entry of the access log is encoded in one form only") func content() throws {
    try Sodium.initialize()
    let seal = AccessLogSeal(vault: Sodium.randomBytes(16), key: HeldKey(try Key.random()))
    for length in 0...255 {
      let event = AccessEvent(
        .store, .ended(.refused), count: 7, collection: 2, item: 3, label: String(repeating: "x", count: length),
        caller: "c")
      let row = seal.seal(event, id: 4, created: 5)
      #expect(row.entry.count % 64 == 40 && seal.open(row) == event)
      #expect(seal.open(AccessLogRow(id: 5, created: 5, entry: row.entry)) == nil)
      #expect(seal.open(AccessLogRow(id: 4, created: 6, entry: row.entry)) == nil)
      let other = AccessLogSeal(vault: Sodium.randomBytes(16), key: seal.key)
      #expect(other.open(row) == nil)
    }
    #expect(AccessLogSeal.read([]) == nil)
    for (byte, count) in [(0, 64), (1, 64), (255, 128)] {
      #expect(AccessLogSeal.read([UInt8](repeating: UInt8(byte), count: count)) == nil)
    }
  }
}
