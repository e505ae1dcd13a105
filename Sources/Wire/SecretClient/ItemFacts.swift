import LatchkeySystemd

/// Facts about an item that every provider of the Secret Service tells: all properties of the specification, without the secret.
public struct ItemFacts {
  /// The label; empty if it cannot be read.
  public private(set) var label = ""
  /// The attributes; empty if they cannot be read.
  public private(set) var attributes: [String: String] = [:]
  /// Whether the secret cannot be read now.
  public private(set) var isLocked = false
  /// The moment at which the item was stored, in seconds since 1970.
  public private(set) var created: UInt64 = 0
  /// The moment at which the item was last changed, in seconds since 1970.
  public private(set) var modified: UInt64 = 0

  /// No facts yet.
  public init() {}

  /// Takes a property, as the closure of ``ServiceConnection/properties(of:_:_:)``. Skips other properties.
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
