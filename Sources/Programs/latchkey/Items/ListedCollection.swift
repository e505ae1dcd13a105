import LatchkeyGettext
import LatchkeySecretClient
import LatchkeySystemd

/// The facts about a collection that the vault shows.
struct ListedCollection {
  static let folder = VaultConnection.root + "/collection/"
  /// The number of parts in the path of a collection. The path of an item has one more.
  static let depth = 5
  /// The label of the default collection of a new vault.
  static let firstLabel = "Login"

  let path: String
  /// The label; empty if the label is unknown.
  var label = ""
  var isLocked = false
  /// The collection's number, which leads to the collection for ever; 0 for collections of other programs, and for the session
  /// collection.
  private(set) var number: UInt64 = 0

  /// A name for persons, beside its label.
  var name: String { String(path.dropFirst(ListedCollection.folder.count)) }

  /// The label, or else the name.
  var title: String { label.isEmpty ? name : label }

  init(_ path: String, from connection: VaultConnection) throws(BusError) {
    self.path = path
    var label = ""
    var isLocked = false
    do throws(BusError) {
      try connection.properties(of: path, VaultConnection.collection) { (name, entry) throws(BusError) in
        switch name {
        case "Label": label = try entry.readVariant(.text)
        case "Locked": isLocked = try entry.readVariant(.flag)
        default: try entry.skip()
        }
      }
    } catch {
      guard error.isLocked else { throw error }
      isLocked = true
    }
    (self.label, self.isLocked) = (label, isLocked)
    // Other programs have no state, and no numbers.
    if !connection.state.isEmpty { number = (try? connection.number(ofCollection: path)) ?? 0 }
  }

  /// The place of an item, in the words of the command line.
  static func place(ofItem item: UInt64, in collection: UInt64) -> String {
    (collection == 1 ? "login" : "c\(collection)") + "/\(item)"
  }

  /// The first label of a collection whose path ends in this name; nil for a number.
  static func label(ofName name: String) -> String? {
    guard name.utf8.first != UInt8(ascii: "c") || UInt64(name.dropFirst()) == nil else { return nil }
    var bytes: [UInt8] = []
    var rest = Array(name.utf8)[...]
    while let next = rest.popFirst() {
      guard next == UInt8(ascii: "_") else {
        bytes.append(next)
        continue
      }
      let digits = String(decoding: rest.prefix(2), as: UTF8.self)
      guard digits.utf8.count == 2, let byte = UInt8(digits, radix: 16), byte > 0 else { return nil }
      bytes.append(byte)
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// The paths of the collection's items.
  func items(from connection: VaultConnection) throws(BusError) -> [String] {
    var paths: [String] = []
    try connection.properties(of: path, VaultConnection.collection) { (name, entry) throws(BusError) in
      guard name == "Items" else { return try entry.skip() }
      paths = try entry.readVariant(.paths)
    }
    return paths
  }

  /// Every collection.
  static func all(from connection: VaultConnection) throws(BusError) -> [ListedCollection] {
    var paths: [String] = []
    try connection.properties(of: VaultConnection.root, VaultConnection.service) { (name, entry) throws(BusError) in
      guard name == "Collections" else { return try entry.skip() }
      paths = try entry.readVariant(.paths)
    }
    var collections: [ListedCollection] = []
    for path in paths { collections.append(try ListedCollection(path, from: connection)) }
    return collections
  }

  /// The collection that a person names by the last part of its path or by its label. Without a name, it is the default collection.
  static func named(_ name: String?, from connection: VaultConnection) throws -> ListedCollection {
    guard let name else { return try standard(from: connection) }
    let all = try all(from: connection)
    if let exact = all.first(where: { $0.name == name }) { return exact }
    if let numbered = all.first(where: { $0.number > 1 && "c\($0.number)" == name }) { return numbered }
    let found = all.filter { $0.label == name }
    guard let first = found.first else {
      throw Failure.declined(unknown(among: all))
    }
    guard found.count == 1 else {
      let names = found.map(\.name).joined(separator: ", ")
      throw Failure.declined(translated("\(found.count) collections have that name; name one of these: \(names)."))
    }
    return first
  }

  /// The message that no collection has the given name, with the existing collections.
  static func unknown(among all: [ListedCollection]) -> String {
    let titles = all.filter { $0.name != "session" }.map { "'\($0.title)' (\($0.name))" }.joined(separator: ", ")
    return TerminalText.printable(
      translated(
        "no collection has that name. There are: \(titles). 'latchkey collection create' creates another one."))
  }

  private static func standard(from connection: VaultConnection) throws -> ListedCollection {
    let path = try connection.call(VaultConnection.root, VaultConnection.service, "ReadAlias") {
      $0.appendString("default")
    } read: { (answer: Message) throws(BusError) in
      try answer.readObjectPath()
    }
    return try ListedCollection(path == VaultConnection.none ? folder + "login" : path, from: connection)
  }
}
