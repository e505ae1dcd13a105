import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyStandInDevice
import Synchronization
import Testing

@testable import LatchkeyVault

/// What becomes of each file of a vault, however it is damaged: a table that `make test` shows.
///
/// The vault has items that are in a generation, items that are newer, changed ones and deleted ones, and a log that is not empty. In each
/// case everything that was acknowledged is there, or the outcome counts it.
@Suite("The healing table", .serialized)
struct HealingTableTests {
  /// A row of the table.
  private struct Row {
    let file: String
    let damage: String
    var (cases, healed, told, items, older, lost, uncounted, untold) = (0, 0, 0, 0, 0, 0, 0, 0)

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

  /// Opens a vault that was damaged, and adds what became of it.
  private func judge(_ row: inout Row, _ what: String, _ damage: (Home) -> Void) throws {
    let copy = try Home(copying: whole)
    damage(copy)
    let vault = try Patient.opened(copy)
    let healing = vault.healing
    row.cases += 1
    if healing != nil || vault.keybagHealing != nil { row.healed += 1 }
    if let complaint = try patient.complaint(vault, healing) {
      Issue.record("\(row.file), \(row.damage), \(what): \(complaint)")
    }
    if healing != nil || vault.keybagHealing != nil || !vault.problems.isEmpty { row.told += 1 }
    let logged = try vault.ids(["app": "log"]).count
    row.items += try vault.ids(["app": "all"]).count + logged
    if logged == 0, healing == nil { row.untold += 1 }
    row.older += healing?.older.count ?? 0
    row.lost += Int(healing?.lost ?? 0)
    if healing?.isCounted == false { row.uncounted += 1 }
    #expect(
      copy.names.filter { $0.contains(".healing") || $0.contains(".salvage") || $0.contains(".healed") } == [])
  }

  /// Every way in which a file is damaged.
  private func rows(_ name: String, of file: String, from other: [UInt8], pages step: Int = 4096) throws -> [Row] {
    func content(_ home: Home) -> [UInt8] { readFile(home.folder + "/" + name) ?? [] }
    func put(_ bytes: [UInt8]?, _ home: Home) {
      if let bytes { writeFile(home.folder + "/" + name, bytes) } else { unlink(home.folder + "/" + name) }
    }
    let size = content(whole).count
    let places = Array(stride(from: 0, to: size, by: step))
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
      try judge(&zeros, "\(place)") { put(page(content($0), place) { _, _ in 0 }, $0) }
      try judge(&noise, "\(place)") { put(page(content($0), place) { $1 ^ UInt8($0 % 255 + 1) }, $0) }
      try judge(&cut, "\(place)") { put(Array(content($0).prefix(place)), $0) }
    }
    rows += [zeros, noise, cut]
    for (damage, bytes) in [("deleted", nil), ("another user's", other), ("another program's", Array("{}".utf8))]
      as [(String, [UInt8]?)]
    {
      var row = Row(file, damage)
      try judge(&row, damage) { put(bytes, $0) }
      rows.append(row)
    }
    return rows
  }

  @Test("shows what becomes of each file, however it is damaged: nothing is lost that is not counted")
  func table() throws {
    var table = try rows("vault.db", of: "vault.db", from: other.database)
    #expect(table.prefix(3).allSatisfy { $0.cases > 20 && $0.healed > 5 && $0.uncounted < $0.cases })
    #expect(table.suffix(3).allSatisfy { $0.healed == 1 && $0.told == 1 })

    let keybags = try rows("keybag", of: "keybag", from: other.home.keybag.encoded, pages: 32)
    #expect(keybags.allSatisfy { $0.healed == $0.cases && $0.older + $0.lost == 0 })
    table += keybags

    let name = try #require(namesInFolder(whole.generations).first)
    let generation = "generations/" + name
    let theirs = readFile(other.home.generations + "/" + (namesInFolder(other.home.generations).first ?? ""))
    let generations = try rows(generation, of: "generation", from: theirs ?? [])
    // The vault needs none of them while vault.db is whole.
    #expect(generations.allSatisfy { $0.healed == 0 && $0.older + $0.lost == 0 })
    table += generations

    #expect(table.allSatisfy { $0.untold == 0 })
    table += try logs()
    table += try older()
    print("\nThe healing table\n\n" + Self.text(table) + "\n")
  }

  /// The log has one item, the last. A damaged log ends in front of the damage, and nobody sees that there was more (SECURITY.md, "The
  /// write-ahead log"). What was settled is there.
  private func logs() throws -> [Row] {
    let rows = try rows("vault.db-wal", of: "vault.db-wal", from: other.home.read("vault.db-wal"))
    let all = patient.wanted.count + 1
    #expect(rows.allSatisfy { $0.older + $0.lost == 0 && $0.items == $0.cases * all - $0.untold })
    return rows
  }

  /// Older copies are no damage: they are used, and told where they are remembered.
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
      with: try Home.open(home.keybag).confirming(), in: try KeybagFile.folder(home: home.path, owner: getuid()))
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
      row.healed = vault.healing == nil && vault.keybagHealing == nil ? 0 : 1
      row.told = vault.olderFiles == told ? 1 : 0
      row.items = try vault.ids(["app": "all"]).count
      #expect(row.healed == 0 && row.told == 1 && row.items == items)
      return row
    }
  }
}
