import LatchkeyKeybag
import Testing

@testable import LatchkeyVault

/// A vault with a generation, and with later stores, changes and deletions. The fields say what the vault must have.
final class Patient {
  let home: Home
  /// The secrets at the end, by label.
  let wanted: [String: String]
  /// The secrets in the generation, by label.
  let former: [String: String]
  let deleted: Set<String>
  let database: [UInt8]
  /// The highest number of an item.
  let last: Int64

  init(padding: Int = 300) throws {
    home = try Home()
    let vault = try home.unlocked()
    let second = try vault.collections.create(label: "Second")
    var wanted: [String: String] = [:]
    func text(_ what: String, _ number: Int) -> String { what + " \(number) " + String(repeating: "x", count: padding) }
    for number in 0..<40 {
      let accessibility = AccessibilityClass.allCases[number % AccessibilityClass.allCases.count]
      let label = "item \(number)"
      wanted[label] = text("old", number)
      try vault.add(
        ["n": "\(number)", "app": "all"], text("old", number), accessibility, label: label,
        in: number % 3 == 0 ? second : 1)
    }
    vault.settleWhole()
    try #require(vault.keepWholeHistory().count == 1)
    former = wanted
    for number in 40..<70 {
      let label = "item \(number)"
      wanted[label] = text("late", number)
      try vault.add(["n": "\(number)", "app": "all"], text("late", number), label: label)
    }
    for number in [1, 8, 15] {
      try vault.set(Int64(number + 1), text("changed", number))
      wanted["item \(number)"] = text("changed", number)
    }
    var deleted: Set<String> = []
    for number in [2, 9, 16, 45] {
      try vault.writer.deleteItem(Int64(number + 1))
      deleted.insert("item \(number)")
      wanted["item \(number)"] = nil
    }
    let third = try vault.collections.create(label: "Third")
    try vault.add(["n": "third", "app": "all"], "in third", label: "third", in: third)
    wanted["third"] = "in third"
    vault.settleWhole()
    (self.wanted, self.deleted) = (wanted, deleted)
    last = try vault.reader.lastItem()
    database = home.read("vault.db")
  }

  /// Opens a vault with these files as a login does, and once more if damage was found meanwhile.
  static func opened(_ copy: Home) throws -> Vault {
    let vault = copy.vault()
    try copy.unlock(vault)
    vault.verifyToEnd()
    if vault.isDamaged { try copy.unlock(vault) }
    vault.verifyToEnd()
    return vault
  }

  /// The fault of an opened vault; nil if it lacks only what the report of the healing names.
  func complaint(_ vault: Vault, _ healing: Healing?) throws -> String? {
    if vault.isDamaged || !vault.problemTexts.isEmpty { return "problems: \(vault.problemTexts)" }
    var found: [String: String] = [:]
    for id in try vault.ids(["app": "all"]) {
      let label = try vault.reader.info(ofItem: id).metadata?.label ?? "?"
      if found[label] != nil { return "\(label) is there twice" }
      found[label] = try vault.secretText(id)
    }
    let older = Set(healing?.older ?? [])
    var missing = 0
    for (label, secret) in wanted {
      if found[label] == secret { continue }
      if let present = found[label] {
        guard former[label] == present, older.contains(label) || healing?.isCounted == false else {
          return "\(label) is an older one, which nobody says"
        }
      } else {
        if former[label] != nil { return "\(label) is gone, and the generation has it" }
        missing += 1
      }
    }
    if missing > Int(healing?.lost ?? 0), healing?.isCounted != false {
      return "\(missing) are gone, which nobody says"
    }
    for label in deleted where found[label] != nil {
      guard healing?.isCounted == false || older.contains(label) else { return "\(label) came back" }
    }
    if let strange = found.keys.first(where: { wanted[$0] == nil && !deleted.contains($0) }) { return "\(strange)?" }
    // A client may have kept an object path, so the path must never name another item.
    let added = try vault.add(["after": "healing"], "x")
    return healing == nil || added > last ? nil : "\(added) was another item's number"
  }
}
