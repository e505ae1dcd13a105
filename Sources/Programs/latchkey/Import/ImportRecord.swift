import Glibc
import LatchkeyPosix
import LatchkeyText

/// The items that were equal in the vault and at the old place when an import last saw them. Each has its times of that moment at
/// both places. An item that still has its time was not changed in the vault since then. The record has no label, attribute or
/// secret, and nothing derived from one.
///
/// Each old place counts separately, so a newer secret from one file never replaces a secret that came from another place.
struct ImportRecord: Codable {
  private var version = 1
  private var items: [String: Times] = [:]
  /// The old place of this import.
  private var source = ""

  private enum CodingKeys: CodingKey { case version, items }

  /// When an item was last changed, according to both places.
  private struct Times: Codable {
    let here: UInt64
    let there: UInt64
    /// The old place.
    let source: String
  }

  private static let folder = [".local", "state", "latchkey"]
  private static let name = "imported.json"
  private static let sizeLimit = 32 << 20

  /// The person's record. If it is missing or cannot be read, the vault's items stay.
  static func read(source: String) -> ImportRecord {
    var record = read() ?? ImportRecord()
    record.source = source
    return record
  }

  private static func read() -> ImportRecord? {
    let path = ([ForeignFiles.home] + folder).joined(separator: "/")
    guard let folder = try? Folder(path: path, owner: getuid()),
      let bytes = try? folder.read(name, limit: sizeLimit),
      var record = try? JSONValue(parsing: bytes).decoded(as: ImportRecord.self), record.version == 1
    else { return nil }
    // Earlier versions wrote the collection's number in front.
    record.items = Dictionary(record.items.map { (key($0.key), $0.value) }) { first, _ in first }
    return record
  }

  /// Writes the record to the disk.
  func write() throws {
    let bytes = Array(try JSONValue(self).text(isPretty: false).utf8)
    let folder = try Folder.create(Self.folder, below: ForeignFiles.home, owner: getuid())
    try folder.write(Self.name, bytes.span.bytes, replacing: true)
  }

  /// Notes an item that is equal at both places now. An item whose time is this second is skipped: somebody else may change it
  /// in the same second.
  ///
  /// - Parameter there: 0 if the old place does not reveal it.
  mutating func note(_ path: String, here: UInt64, there: UInt64) {
    guard here < UInt64(time(nil)) else { return }
    items[Self.key(path)] = Times(here: here, there: there == 0 ? here : there, source: source)
  }

  /// When the item's content was last changed at the old place, if the item is as the last import saw it.
  func origin(of item: ListedItem) -> UInt64? {
    seen(item).flatMap { $0.here == item.modified ? $0.there : nil }
  }

  /// Whether an import from this place saw the item, in its present or a former state.
  func has(_ item: ListedItem) -> Bool { seen(item) != nil }

  private func seen(_ item: ListedItem) -> Times? {
    items[Self.key(item.path)].flatMap { $0.source == source ? $0 : nil }
  }

  /// An item's number. The whole path would reveal the label of its collection.
  private static func key(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }
}
