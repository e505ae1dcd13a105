import Glibc
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeySecretClient
import LatchkeySystemd

/// The facts about an item that the vault shows: everything but the secret.
struct ListedItem: Encodable {
  let path: String
  /// The label; nil if the label cannot be read now. The attributes are nil too then.
  private(set) var label: String?
  private(set) var attributes: [String: String]?
  private(set) var isLocked = false
  private(set) var created: UInt64 = 0
  private(set) var modified: UInt64 = 0
  private(set) var accessibility: AccessibilityClass?
  /// The item's requirements, in the words of --require; empty without requirements, nil if the label is nil.
  private(set) var require: String?
  private(set) var collection: ListedCollection?
  /// Why the item is locked.
  private(set) var reason: String?

  /// The item's place, in the words of the command line.
  var place: String { String(path.dropFirst(ListedCollection.folder.count)) }

  /// The item's number, which grows with each item.
  var number: UInt64 { UInt64(path[path.index(after: path.lastIndex(of: "/") ?? path.startIndex)...]) ?? 0 }

  /// The path of the item's collection.
  var collectionPath: String { String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) }

  /// Label, attributes, times, class, requirements, and whether the item is locked.
  init(_ path: String, from connection: VaultConnection) throws(BusError) {
    self.path = path
    var facts = ItemFacts()
    var (accessible, require) = ("", "")
    // The properties of every interface that the item has.
    try connection.properties(of: path, "") { (name, entry) throws(BusError) in
      switch name {
      case "Accessible": accessible = try entry.readVariant(.text)
      case "Require": require = try entry.readVariant(.text)
      default: try facts.take(name, entry)
      }
    }
    // Programs get nothing for values that cannot be read.
    if !facts.isLocked || !facts.label.isEmpty || !facts.attributes.isEmpty || !require.isEmpty {
      (label, attributes, self.require) = (facts.label, facts.attributes, require)
    }
    accessibility = AccessibilityClass(name: accessible)
    isLocked = facts.isLocked
    (created, modified) = (facts.created, facts.modified)
  }

  /// The items with their class, their collection and the reason why they are locked, if the vault says these.
  static func described(_ items: [ListedItem], from connection: VaultConnection) throws(BusError) -> [ListedItem] {
    if items.isEmpty { return [] }
    var collections: [String: ListedCollection] = [:]
    for one in try ListedCollection.all(from: connection) { collections[one.path] = one }
    let reason = items.contains { $0.isLocked } ? connection.lockReason() : nil
    return items.map { item in
      var item = item
      item.collection = collections[item.collectionPath]
      if item.isLocked {
        let outlastsLocks = item.accessibility.map { $0.tier != .unlocked } ?? false
        let isCollections =
          (item.collection?.isLocked ?? false) && (reason == nil || (outlastsLocks && connection.state == "locked"))
        item.reason =
          isCollections ? translated("its collection is locked") : reason ?? obstacle(to: item.path, on: connection)
      }
      return item
    }
  }

  private static func obstacle(to path: String, on connection: VaultConnection) -> String {
    connection.obstacle(to: path).toldWithoutAdvice
  }

  private enum CodingKeys: String, CodingKey {
    case path, label, attributes, `class`, require, collection, state, reason, created, modified
  }

  /// Every item has the same keys in JSON.
  func encode(to encoder: any Encoder) throws {
    var out = encoder.container(keyedBy: CodingKeys.self)
    try out.encode(place, forKey: .path)
    try out.encode(label, forKey: .label)
    try out.encode(attributes, forKey: .attributes)
    try out.encode(accessibility?.name, forKey: .class)
    try out.encode(require, forKey: .require)
    try out.encode(collection?.title, forKey: .collection)
    try out.encode(isLocked ? "locked" : "open", forKey: .state)
    try out.encode(reason, forKey: .reason)
    try out.encode(created, forKey: .created)
    try out.encode(modified, forKey: .modified)
  }

  /// One line: the item's place, and its label.
  var title: String { TerminalText.printable("\(place)  \(label ?? translated("(its label cannot be read now)"))") }

  /// All facts, for a person.
  var text: String {
    var lines = [title]
    if let attributes, !attributes.isEmpty {
      let words = attributes.sorted { $0.key < $1.key }.map { ItemAttributes.word($0.key, $0.value) }
      lines.append("  " + words.joined(separator: " "))
    }
    let home = collection?.title ?? "?"
    var facts = [accessibility?.name ?? translated("class unknown"), translated("in \(home)")]
    if let require, !require.isEmpty { facts.append(translated("requires \(require)")) }
    let why = reason ?? ""
    facts.append(isLocked ? translated("locked: \(why)") : translated("unlocked"))
    facts.append(translated("stored \(LocalTime(created).minute)"))
    if modified != created { facts.append(translated("changed \(LocalTime(modified).minute)")) }
    lines.append("  " + facts.joined(separator: "; "))
    return lines.map(TerminalText.printable).joined(separator: "\n")
  }
}
