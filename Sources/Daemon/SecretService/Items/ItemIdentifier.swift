import LatchkeySystemd

/// The identifier by which a client may remember an item of the vault. It is valid as long as the item exists, and never for
/// another item, even in a new vault with the same numbers.
struct ItemIdentifier: Equatable {
  /// The item's number.
  let item: Int64
  /// 16 bytes that no other item has.
  let uuid: [UInt8]

  private static let numberSize = 8
  static let size = numberSize + 16

  /// Makes a value from its parts.
  init(_ item: Int64, uuid: [UInt8]) {
    self.item = item
    self.uuid = uuid
  }

  /// Reads one; nil for bytes of another number.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == ItemIdentifier.size else { return nil }
    item = bytes.prefix(ItemIdentifier.numberSize).reduce(0) { $0 << 8 | Int64($1) }
    uuid = Array(bytes.dropFirst(ItemIdentifier.numberSize))
  }

  /// The number, the largest byte first, then the uuid.
  var bytes: [UInt8] { (0..<8).reversed().map { UInt8(truncatingIfNeeded: item >> (8 * $0)) } + uuid }

  /// Reads one from a message.
  static func read(_ message: Message) throws(BusError) -> ItemIdentifier {
    guard let identifier = ItemIdentifier(try message.readOctets()) else {
      throw .invalidArguments("identifiers have \(size) bytes")
    }
    return identifier
  }
}
