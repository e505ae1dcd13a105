import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyStandInDevice
import Synchronization
import Testing

@testable import LatchkeyVault

/// The result for each file of a vault under every kind of damage, as a table that the test prints.
///
/// The vault has items that are in a generation, newer ones, changed ones and deleted ones, and a log that is not empty. In each
/// case every acknowledged change is there, or the report counts the loss.
@Suite("The healing table", .serialized)
struct HealingTableTests {
  /// A row of the table.
  private struct Row {
    let file: String
    let damage: String
    var (cases, healed, told, items, older, lost, uncounted, untold) = (0, 0, 0, 0, 0, 0, 0, 0)
    /// How often the vault was healed from the first generation.
    var fromFirst = 0

    init(_ file: String, _ damage: String) { (self.file, self.damage) = (file, damage) }

    var cells: [String] {
      [file, damage] + [cases, healed, told, items, older, lost, uncounted, untold].map { "\($0)" }
    }

    static let titles = [
      "file", "damage", "cases", "healed", "told", "items read", "as in the generation", "gone, counted",
      "cases without a count", "gone, not told",
    ]
  }

  private static func text(_ rows: [Row]) -> String {
    let cells = [Row.titles] + rows.map(\.cells)
    let widths = Row.titles.indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
    return cells.map { row in
      zip(row, widths).enumerated().map { column, cell in
        let space = String(repeating: " ", count: cell.1 - cell.0.count)
        return column < 2 ? cell.0 + space : space + cell.0
      }.joined(separator: "  ")
    }.joined(separator: "\n")
  }

  private let patient: Patient
  private let other: Patient
  /// The vault with a copy of its keybag, and with an item that only the log has.
  private let whole: Home

  init() throws {
    patient = try Patient()
    other = try Patient(padding: 10)
    for one in [patient.home, other.home] {
      KeybagFile.keepCopy(of: one.keybag, in: try KeybagFile.folder(home: one.path, owner: getuid()))
    }
    let vault = try patient.home.unlocked()
    vault.verifyToEnd()
    try vault.add(["n": "log", "app": "log"], "in the log", label: "log")
    whole = try Home(copying: patient.home)
    #expect(whole.read("vault.db-wal").count > 4096)
  }

  /// Opens a damaged vault, and adds the result to the row.
  private func judge(_ row: inout Row, _ what: String, in base: Home, _ damage: (Home) -> Void) throws {
    let copy = try Home(copying: base)
    damage(copy)
    let vault = try Patient.opened(copy)
    let healing = vault.healing.done
    row.cases += 1
    if healing != nil || vault.keybagHealing != nil { row.healed += 1 }
    if let complaint = try patient.complaint(vault, healing) {
      Issue.record("\(row.file), \(row.damage), \(what): \(complaint)")
    }
    if healing != nil || vault.keybagHealing != nil || !vault.problemTexts.isEmpty { row.told += 1 }
    let logged = try vault.ids(["app": "log"]).count
    row.items += try vault.ids(["app": "all"]).count + logged
    if logged == 0, healing == nil { row.untold += 1 }
    row.older += healing?.older.count ?? 0
    row.lost += Int(healing?.lost ?? 0)
    if healing?.isCounted == false { row.uncounted += 1 }
    if healing?.generation.number == 1 { row.fromFirst += 1 }
    #expect(
      copy.names.filter { $0.contains(".healing") || $0.contains(".salvage") || $0.contains(".healed") } == [])
  }

  /// Tests one case: the row, the name of the case, the position at which the damage begins, and the damage.
  private typealias Judge = (inout Row, String, Int, (Home) -> Void) throws -> Void

  /// Damages the file in every way.
  private func rows(
    _ name: String, of file: String, in base: Home? = nil, from other: [UInt8], pages step: Int = 4096,
    judging: Judge? = nil
  ) throws -> [Row] {
    let base = base ?? whole
    let judge: Judge =
      judging ?? { row, what, _, damage in try self.judge(&row, what, in: base, damage) }
    func content(_ home: Home) -> [UInt8] { readFile(home.folder + "/" + name) ?? [] }
    func put(_ bytes: [UInt8]?, _ home: Home) {
      if let bytes { writeFile(home.folder + "/" + name, bytes) } else { unlink(home.folder + "/" + name) }
    }
    let size = content(base).count
    let places = Array(stride(from: 0, to: size, by: Cuts.each ? step : 3 * step))
    func page(_ bytes: [UInt8], _ place: Int, _ change: (Int, UInt8) -> UInt8) -> [UInt8] {
      var bytes = bytes
      for position in place..<min(place + step, size) { bytes[position] = change(position, bytes[position]) }
      return bytes
    }
    var rows: [Row] = []
    let unit = step == 4096 ? "page" : "piece of \(step) bytes"
    var zeros = Row(file, "a \(unit) of zeros")
    var noise = Row(file, "a \(unit) of noise")
    var cut = Row(file, "cut in front of a \(unit)")
    for place in places {
      try judge(&zeros, "\(place)", place) { put(page(content($0), place) { _, _ in 0 }, $0) }
      try judge(&noise, "\(place)", place) { put(page(content($0), place) { $1 ^ UInt8($0 % 255 + 1) }, $0) }
      try judge(&cut, "\(place)", place) { put(Array(content($0).prefix(place)), $0) }
    }
    rows += [zeros, noise, cut]
    for (damage, bytes) in [("deleted", nil), ("another user's", other), ("another program's", Array("{}".utf8))]
      as [(String, [UInt8]?)]
    {
      var row = Row(file, damage)
      try judge(&row, damage, 0) { put(bytes, $0) }
      rows.append(row)
    }
    return rows
  }

  @Test("shows what becomes of each file, however it is damaged: nothing is lost that is not counted")
  func table() throws {
    var table = try rows("vault.db", of: "vault.db", from: other.database)
    #expect(table.prefix(3).allSatisfy { $0.cases > 10 && $0.healed > 5 && $0.uncounted < $0.cases })
    #expect(table.suffix(3).allSatisfy { $0.healed == 1 && $0.told == 1 })
    // Nobody can count the items of a missing file. The generation's items are there.
    #expect(table[3].uncounted == 1 && table[3].items == patient.former.count && table[3].lost == 0)

    table += try newestDamaged()

    let keybags = try rows("keybag", of: "keybag", from: other.home.keybag.encoded, pages: 32)
    #expect(keybags.allSatisfy { $0.healed == $0.cases && $0.older + $0.lost == 0 })
    table += keybags

    // The copy is not needed while the keybag is whole.
    let copies = try rows("keybag.copy", of: "keybag.copy", from: other.home.keybag.encoded, pages: 32)
    #expect(copies.allSatisfy { $0.healed + $0.told + $0.lost == 0 && $0.items == $0.cases * all })
    table += copies
    table.append(try bothKeybags())

    let name = try #require(namesInFolder(whole.generations).first)
    let generation = "generations/" + name
    let theirs = readFile(other.home.generations + "/" + (namesInFolder(other.home.generations).first ?? ""))
    let generations = try rows(generation, of: "generation", from: theirs ?? [])
    // The vault needs no generation while vault.db is whole.
    #expect(generations.allSatisfy { $0.healed == 0 && $0.older + $0.lost == 0 })
    table += generations

    #expect(table.allSatisfy { $0.untold == 0 })
    table += try logs()
    table += try deviceKeys()
    table += try serviceMarks()
    table += try older()
    print("\nThe healing table\n\n" + Self.text(table) + "\n")
  }

  private var all: Int { patient.wanted.count + 1 }

  /// The newer of two generations is damaged, and so is the database.
  private func newestDamaged() throws -> [Row] {
    let two = try Home(copying: whole)
    do {
      let vault = try two.unlocked()
      vault.settleWhole()
      try #require(vault.keepWholeHistory(hours: 5).count == 2)
    }
    let name = try #require(namesInFolder(two.generations).first { $0.hasPrefix("2-") })
    let theirs = readFile(other.home.generations + "/" + (namesInFolder(other.home.generations).first ?? "")) ?? []
    let database = two.read("vault.db")
    // A page of items, which a whole generation would replace.
    var damaged = database
    for position in (database.count / 2)..<(database.count / 2 + 4096) { damaged[position % database.count] = 0 }
    var found: [Row] = []
    for (what, bytes) in [("deleted", nil), ("a page of zeros", damaged)] as [(String, [UInt8]?)] {
      let base = try Home(copying: two)
      if let bytes { base.write("vault.db", bytes) } else { base.remove("vault.db") }
      base.remove("vault.db-wal")
      let rows = try rows(
        "generations/" + name, of: "vault.db \(what), and the newest generation", in: base, from: theirs)
      // If the damaged page is not used, the newest generation is whole.
      #expect(rows.allSatisfy { $0.healed == $0.cases && $0.told == $0.cases })
      #expect(rows.prefix(3).allSatisfy { $0.fromFirst * 2 > $0.cases })
      #expect(rows.suffix(3).allSatisfy { $0.fromFirst == 1 })
      #expect(rows.allSatisfy { $0.items >= $0.cases * patient.former.count })
      found += rows
    }
    return found
  }

  /// Without a keybag nothing opens, and no file is changed. The vault opens again when either of the two keybags is put back.
  private func bothKeybags() throws -> Row {
    var row = Row("keybag and keybag.copy", "a piece of 32 bytes of noise")
    for place in stride(from: 0, to: whole.read("keybag").count, by: 32) {
      let copy = try Home(copying: whole)
      let bytes = copy.read("keybag")
      var damaged = bytes
      for position in place..<min(place + 32, bytes.count) { damaged[position] ^= 0x5a }
      for name in ["keybag", "keybag.copy"] { copy.write(name, damaged) }
      row.cases += 1
      do {
        let vault = copy.vault()
        #expect(throws: (any Error).self) { try copy.unlock(vault) }
        if vault.problemTexts.contains(where: { $0.hasPrefix("keybag: ") }) { row.told += 1 }
      }
      copy.write("keybag", bytes)
      let vault = try Patient.opened(copy)
      #expect(try patient.complaint(vault, nil) == nil, "\(place)")
    }
    #expect(row.told == row.cases)
    return row
  }

  /// A damaged log ends before the damage, and nothing shows that there was more (docs/security/disks.md). The vault has the
  /// changes that were acknowledged before the damaged part was written, and those already in the database.
  private func logs() throws -> [Row] {
    let several = try Home(copying: patient.home)
    let vault = try several.unlocked()
    vault.verifyToEnd()
    var ends: [Int] = []
    for number in 0..<6 {
      try vault.add(["n": "log \(number)", "app": "end"], "in the log", label: "\(number)")
      ends.append(several.read("vault.db-wal").count)
    }
    #expect(ends == ends.sorted() && Set(ends).count == ends.count)
    let base = try Home(copying: several)
    let rows = try rows("vault.db-wal", of: "vault.db-wal", in: base, from: other.home.read("vault.db-wal")) {
      row, what, place, damage in
      let copy = try Home(copying: base)
      damage(copy)
      let vault = try Patient.opened(copy)
      row.cases += 1
      if vault.healing.done != nil { row.healed += 1 }
      if !vault.problemTexts.isEmpty { row.told += 1 }
      #expect(try patient.complaint(vault, vault.healing.done) == nil)
      let found = try vault.ids(["app": "end"])
        .compactMap { try vault.reader.info(ofItem: $0).metadata?.label }.sorted()
      // The readable items are the first items, without a gap.
      #expect(found == (0..<found.count).map { "\($0)" }, "\(row.damage), \(what)")
      #expect(found.count >= ends.count { $0 <= place }, "\(row.damage), \(what)")
      row.items += try vault.ids(["app": "all"]).count + found.count
      row.untold += ends.count - found.count
    }
    #expect(rows.allSatisfy { $0.healed + $0.told + $0.older + $0.lost == 0 && $0.untold <= $0.cases * ends.count })
    // Damage at the beginning of the log loses all of its items; damage at the end loses one at most.
    #expect(rows.suffix(3).allSatisfy { $0.untold == ends.count })
    #expect(rows.prefix(3).allSatisfy { $0.untold < $0.cases * ends.count })
    return rows
  }

  /// How many items open, and whether the others are all bound to the device.
  private func readable(_ vault: Vault) throws -> Int {
    var count = 0
    for id in try vault.ids([:]) {
      if (try? vault.secretText(id)) != nil {
        count += 1
      } else {
        #expect(try vault.reader.info(ofItem: id).accessibility.isBoundToDevice)
      }
    }
    return count
  }

  /// Nothing heals the device key. Items that are bound to it do not open, which is reported, and they open again when the file is
  /// put back.
  private func deviceKeys() throws -> [Row] {
    let all = try readable(Home(copying: whole).unlocked())
    let rows = try rows("device.key", of: "device.key", from: other.home.read("device.key"), pages: 32) {
      row, what, _, damage in
      let copy = try Home(copying: whole)
      let file = copy.read("device.key")
      damage(copy)
      row.cases += 1
      do {
        let vault = try Patient.opened(copy)
        #expect(vault.healing.done == nil && !vault.isDamaged, "\(row.damage), \(what)")
        let found = try readable(vault)
        row.items += found
        if try !vault.problemTexts.isEmpty || vault.device.itemCountOfOthers() > 0 { row.told += 1 }
        #expect(found < all, "\(row.damage), \(what)")
        _ = try vault.add(["after": "damage"], "x")
      }
      copy.write("device.key", file)
      let vault = try Patient.opened(copy)
      #expect(try patient.complaint(vault, nil) == nil, "\(row.damage), \(what), with the file again")
    }
    #expect(rows.allSatisfy { $0.told == $0.cases })
    return rows
  }

  /// The service's mark matters while the service does not answer: no other key replaces the service's then.
  private func serviceMarks() throws -> [Row] {
    let device = StandInDevice(seed: 12)
    func open(_ home: Home, isServed: Bool = true) throws -> Vault {
      let vault = Vault(home: home.path, owner: getuid(), machine: Home.machine) { () throws(DeviceKeyError) in
        isServed ? device : nil
      }
      try vault.unlock(home.tiers, opening: .everything, liftingLocks: true, mayCreate: true)
      vault.verifyToEnd()
      return vault
    }
    let home = try Home()
    do {
      let vault = try open(home)
      for one in AccessibilityClass.allCases { try vault.add(["n": one.name], "s", one, label: one.name) }
      vault.settleWhole()
    }
    try #require(home.names.contains("device.service"))
    let all = AccessibilityClass.allCases.count
    var found: [Row] = []
    for isServed in [true, false] {
      let rows = try rows(
        "device.service", of: "device.service" + (isServed ? "" : ", no service"), in: home,
        from: Array("LATCHSVC".utf8), pages: 32
      ) { row, what, _, damage in
        let copy = try Home(copying: home)
        damage(copy)
        row.cases += 1
        do {
          let vault = try open(copy, isServed: isServed)
          #expect(!vault.isDamaged)
          let count = try readable(vault)
          row.items += count
          if try !vault.problemTexts.isEmpty || vault.device.itemCountOfOthers() > 0 { row.told += 1 }
          #expect(isServed ? count == all : count < all, "\(row.damage), \(what)")
          vault.settleWhole()
          // An unreadable mark still counts as a mark.
          #expect(!copy.names.contains("device.key") || (!isServed && row.damage == "deleted"))
        }
        #expect(try readable(open(copy)) == all, "\(row.damage), \(what), with the service again")
      }
      #expect(rows.allSatisfy { isServed || $0.told == $0.cases })
      found += rows
    }
    return found
  }

  /// Older copies are not damage. The vault uses them, and reports them if the generation is remembered.
  private func older() throws -> [Row] {
    let device = StandInDevice(seed: 11)
    let memory = StandInMemory()
    device.memory = memory
    let home = try Home()
    func open(_ home: Home) throws -> Vault {
      let vault = Vault(home: home.path, owner: getuid(), machine: Home.machine) { () throws(DeviceKeyError) in device }
      try vault.unlock(home.tiers, opening: .everything, liftingLocks: true, mayCreate: true)
      vault.verifyToEnd()
      return vault
    }
    do {
      let vault = try open(home)
      try vault.add(["n": "1", "app": "all"], "first")
      vault.settleWhole()
      vault.keepWholeHistory()
    }
    let before = try Home(copying: home)
    KeybagFile.keepCopy(of: home.keybag, in: try KeybagFile.folder(home: home.path, owner: getuid()))
    try KeybagFile.replace(
      home.keybag, with: try Home.open(home.keybag).confirming(),
      in: try KeybagFile.folder(home: home.path, owner: getuid()))
    do {
      let vault = try open(home)
      try vault.add(["n": "2", "app": "all"], "second")
      vault.settleWhole()
    }
    try open(home).settleWhole()
    let known = memory.known
    return try [("vault.db", OlderFiles.database, 1), ("keybag", .keybag, 2)].map { name, told, items in
      memory.known = known
      let copy = try Home(copying: home)
      copy.write(name, before.read(name))
      if name == "vault.db" { copy.remove("vault.db-wal") }
      let vault = try open(copy)
      var row = Row(name, "an older one")
      row.cases = 1
      row.healed = vault.healing.done == nil && vault.keybagHealing == nil ? 0 : 1
      row.told = vault.olderFiles.found == told ? 1 : 0
      row.items = try vault.ids(["app": "all"]).count
      #expect(row.healed == 0 && row.told == 1 && row.items == items)
      return row
    }
  }
}
