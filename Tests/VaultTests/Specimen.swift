import LatchkeyKeybag

@testable import LatchkeyVault

/// The files of a small closed vault, and its items.
final class Specimen: @unchecked Sendable {
  let home: Home
  let database: [UInt8]
  /// Number, unique attribute value and secret of each item, and its class.
  let items: [(id: Int64, name: String, secret: String, accessibility: AccessibilityClass)]
  let second: Int64

  init() throws {
    home = try Home()
    let vault = try home.unlocked()
    second = try vault.collections.create(label: "Second")
    var items: [(id: Int64, name: String, secret: String, accessibility: AccessibilityClass)] = []
    for number in 0..<24 {
      let accessibility = AccessibilityClass.allCases[number % AccessibilityClass.allCases.count]
      let secret = "secret \(number)" + String(repeating: "x", count: number == 7 ? 9000 : number)
      let id = try vault.add(
        ["name": "item-\(number)", "app": "shared"], secret, accessibility, label: "L\(number)",
        in: number % 3 == 0 ? second : 1)
      items.append((id, "item-\(number)", secret, accessibility))
    }
    for number in [3, 11] { try vault.writer.deleteItem(items[number].id) }
    items.removeAll { $0.name == "item-3" || $0.name == "item-11" }
    self.items = items
    vault.settleWhole()
    database = home.read("vault.db")
  }

  /// Opens a damaged copy and asks it for everything. The result is nil if every answer was right or an error.
  ///
  /// - Parameter keepsAll: false if the damage may lose the last writes (the log).
  func complaint(in copy: Home, damaged: [UInt8], keepsAll: Bool = true) -> String? {
    copy.write("vault.db", damaged)
    copy.remove("vault.db-wal")
    return complaint(in: copy, file: damaged, keepsAll: keepsAll)
  }

  func complaint(in copy: Home, file: [UInt8], keepsAll: Bool) -> String? {
    let (complaint, reported) = ask(copy, keepsAll: keepsAll)
    if complaint == nil, reported, copy.read("vault.db") != file { return "the damaged file was written to" }
    return complaint
  }

  private func ask(_ copy: Home, keepsAll: Bool) -> (complaint: String?, reported: Bool) {
    let vault = copy.vault()
    var refused = false
    do { try copy.unlock(vault) } catch { refused = true }
    vault.verifyToEnd()
    let damaged = refused || vault.isDamaged || !vault.problemTexts.isEmpty
    var complaint: String?
    let last = items[items.count - 1].id
    func answered(_ what: String, _ found: [Int64], _ right: [Int64]) {
      // An item newer than the specimen comes from a log that a test put next to the database.
      let found = found.filter { $0 <= last }
      let missing = right.filter { !found.contains($0) }
      if found.contains(where: { !right.contains($0) }) && !damaged { complaint = "\(what): found too much" }
      if !missing.isEmpty && (!damaged || found.isEmpty) && keepsAll { complaint = "\(what): \(missing) not found" }
    }
    for item in items {
      if let found = try? vault.ids(["name": item.name]) { answered(item.name, found, [item.id]) }
      if let found = try? vault.secretText(item.id), found != item.secret { complaint = "\(item.name): wrong secret" }
    }
    if let found = try? vault.ids([:]) { answered("everything", found, items.map(\.id)) }
    if let found = try? vault.ids(["app": "shared"]) { answered("app", found, items.map(\.id)) }
    for collection in [1, second] {
      let right = items.filter { ($0.id % 3 == 1) == (collection == second) }.map(\.id)
      if let found = try? vault.reader.items(in: collection) { answered("collection", found, right) }
      if let found = try? vault.ids(["app": "shared"], in: collection) { answered("app in it", found, right) }
    }
    for accessibility in AccessibilityClass.allCases {
      let right = items.filter { $0.accessibility == accessibility }.map(\.id)
      if let found = try? vault.reader.search(.accessibility(accessibility)).map(\.id) {
        answered("class", found, right)
      }
    }
    for alias in ["default", "login"] {
      do {
        if try vault.collections.alias(alias) != 1 && keepsAll { complaint = "alias \(alias): wrong" }
      } catch {}
    }
    if let info = try? vault.collections.info(of: second), info.label != "Second" { complaint = "wrong label" }
    // A damaged vault refuses a store. An undamaged one must not overwrite anything.
    if let id = try? vault.add(["name": "new"], "new"), items.contains(where: { $0.id == id }) {
      complaint = "a new item took the number \(id)"
    }
    for item in items where !damaged {
      if let found = try? vault.secretText(item.id), found != item.secret { complaint = "\(item.name): overwritten" }
    }
    return (complaint, damaged)
  }
}
