import Foundation
import LatchkeyItemProtection

@testable import LatchkeyKeychainClient
@testable import LatchkeySecurity

/// The values from which these tests make items.
enum ItemExample {
  static let groups = AccessGroups(["TEAM.app", "TEAM.shared"])

  static func new(_ dictionary: [String: Any], groups: AccessGroups = groups) throws -> NewItem {
    try NewItem(dictionary as NSDictionary, groups: groups)
  }

  static func query(_ dictionary: [String: Any], groups: AccessGroups = groups) throws -> ItemQuery {
    try ItemQuery(dictionary as NSDictionary, for: .copying, groups: groups)
  }

  /// A stored item in the form of the vault's answer.
  static func found(
    _ written: WrittenItem, label: String? = nil, accessible: String = "when-unlocked", number: UInt8 = 1
  )
    -> VaultItem
  {
    VaultItem(
      path: "/item", identifier: Data([number]), attributes: written.attributes, label: label ?? written.label,
      created: 1_000_000, modified: 2_000_000, accessible: accessible, require: "", state: .open, isKnown: true)
  }

  /// An item of another program.
  static func foreign(_ attributes: [String: String], label: String = "") -> VaultItem {
    VaultItem(
      path: "/item", identifier: Data([1, 2, 3]), attributes: attributes, label: label, created: 1_000_000,
      modified: 2_000_000, accessible: "after-first-unlock", require: "", state: .open, isKnown: true)
  }

  static func stored(_ found: VaultItem) throws -> StoredItem? { found.storedItem(foreignGroup: "TEAM.app") }

  /// Examples of each type, with values that are hard to store.
  static let values: [AttributeValue] = [
    .text(""), .text("anna"), .text("Ännä 🔑"), .text("a\u{0}b"), .text("\u{FFFE}"), .text("443"), .text("https"),
    .text("htps"), .text("ftp "), .text("data"), .text("none"), .text("text=x"), .text("\u{301}x"), .text("e\u{301}"),
    .text("\u{e9}"), .text("007"), .text("-0"), .text("99999999999"),
    .data(Data()), .data(Data("anna".utf8)), .data(Data([0])), .data(Data([0xFF, 0xFE])), .data(Data("443".utf8)),
    .data(Data("https".utf8)), .data(Data("htps".utf8)),
    .number(0), .number(1), .number(-1), .number(443), .number(.max), .number(.min), .number(1_752_462_451),
  ]
}
