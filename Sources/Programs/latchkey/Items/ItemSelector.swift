import ArgumentParser
import LatchkeyGettext
import LatchkeySecretClient
import LatchkeySystemd

/// The chosen items: items with some attributes, or the items at some places.
enum ItemSelector {
  case attributes([String: String])
  case paths([String])

  static let help = ArgumentHelp(
    translated("The item: its attributes, or its place, as 'latchkey find' shows them."),
    valueName: "name=value|path")

  /// Reads the words of the command line.
  ///
  /// - Throws: `ValidationError`.
  init(_ words: [String]) throws {
    if words.allSatisfy({ $0.contains("=") }) {
      self = .attributes(try ItemAttributes(words).values)
    } else if words.contains(where: { $0.contains("=") }) {
      throw ValidationError(
        translated("Give either attributes (name=value) or the item's place (as login/5), not both."))
    } else {
      self = .paths(try words.map(Self.path))
    }
  }

  /// Makes a path from the short form for people (login/5), or from an object path.
  private static func path(_ word: String) throws -> String {
    let rest = word.hasPrefix(ListedCollection.folder) ? word.dropFirst(ListedCollection.folder.count) : word[...]
    let parts = rest.split(separator: "/", omittingEmptySubsequences: false)
    let isPath =
      parts.count == 2 && parts[0].utf8.allSatisfy(Self.isPartOfName) && !parts[0].isEmpty
      && (UInt64(parts[1]).map { String($0) == parts[1] } ?? false)
    guard isPath else {
      throw ValidationError(
        translated(
          """
          Name an item by its attributes (name=value), or by its place (as login/5). 'latchkey find' with a word of \
          its label shows both.
          """))
    }
    return ListedCollection.folder + rest
  }

  /// Letters and digits of ASCII, and the underscore.
  private static func isPartOfName(_ byte: UInt8) -> Bool {
    let letter = byte | 0x20
    return (0x30...0x39).contains(byte) || (0x61...0x7a).contains(letter) || byte == UInt8(ascii: "_")
  }

  /// The items, perhaps no item. A search returns the most recently changed one first.
  func items(from connection: VaultConnection) throws -> [ListedItem] {
    switch self {
    case .paths(let paths):
      var seen: Set<String> = []
      return try paths.filter { seen.insert($0).inserted }.map { try ListedItem($0, from: connection) }
    case .attributes(let attributes):
      return try Self.found(attributes, from: connection)
    }
  }

  /// The items that exist; a place without an item is skipped.
  func presentItems(from connection: VaultConnection) throws -> [ListedItem] {
    guard case .paths(let paths) = self else { return try items(from: connection) }
    return try Self.items(Array(Set(paths)), from: connection)
  }

  /// The items that have these attributes, most recently changed first, and the higher number first within one second.
  static func found(_ attributes: [String: String], from connection: VaultConnection) throws -> [ListedItem] {
    // Sorted again, because the vault lists the readable items first.
    try items(try connection.search(attributes), from: connection).reversed()
  }

  /// The items at these paths that were not deleted meanwhile, most recently changed last. Stored again in this order, searches
  /// return them in the same order.
  static func items(_ paths: [String], from connection: VaultConnection) throws -> [ListedItem] {
    let found = try paths.compactMap { path in
      do throws(BusError) { return try ListedItem(path, from: connection) } catch {
        guard error.isNoSuchObject else { throw error }
        return nil
      }
    }
    return found.sorted { ($0.modified, $0.number) < ($1.modified, $1.number) }
  }

  /// The only item; ends the command if there is no item, or more than one.
  func item(from connection: VaultConnection) throws -> ListedItem {
    let found = try items(from: connection)
    guard let first = found.first else { throw Self.nothing }
    guard found.count == 1 else {
      throw Self.several(found.map(\.title), advice: translated("Name one item by its place, or by more attributes."))
    }
    return first
  }

  static let nothing = Failure.noItem(translated("no item has these attributes. 'latchkey find' lists what there is."))

  static func several(_ titles: [String], advice: String) -> Failure {
    let found = translated(titles.count, one: "\(titles.count) item fits:", other: "\(titles.count) items fit:")
    return .declined(([found] + titles.map { "  " + $0 } + [advice]).joined(separator: "\n"))
  }
}
