import LatchkeySystemd

/// Facts about an item that every program which keeps secrets tells: all properties of the specification, but not the secret.
public struct ItemFacts {
  /// Empty if it cannot be read.
  public private(set) var label = ""
  /// Empty if they cannot be read.
  public private(set) var attributes: [String: String] = [:]
  /// Whether the secret cannot be read now.
  public private(set) var isLocked = false
  /// When the item was stored, in seconds since 1970.
  public private(set) var created: UInt64 = 0
  /// When the item was changed last, in seconds since 1970.
  public private(set) var modified: UInt64 = 0

  /// No facts yet.
  public init() {}

  /// Takes a property for which ``ServiceConnection/properties(of:_:_:)`` calls its closure. A property that is no fact is skipped.
  public mutating func take(_ name: String, _ entry: Message) throws(BusError) {
    switch name {
    case "Label": label = try entry.readVariant(.text)
    case "Attributes": attributes = try entry.readVariant(.dictionary)
    case "Locked": isLocked = try entry.readVariant(.flag)
    case "Created": created = try entry.readVariant(.number)
    case "Modified": modified = try entry.readVariant(.number)
    default: try entry.skip()
    }
  }
}
