import LatchkeyKeybag

/// A new item without its secret.
public struct NewItem: ~Copyable {
  /// The collection for the new item.
  public let collection: Int64
  /// The item's label, attributes and flags.
  public let metadata: ItemMetadata
  /// The item's class; nil for the class of a replaced item, else ``defaultClass``.
  public var accessibility: AccessibilityClass?
  /// The class of a new item if no class is named.
  public var defaultClass = AccessibilityClass.whenUnlocked
  /// Whether to replace an item with exactly these attributes. If there are several, the one that was changed last is replaced. It
  /// keeps its access control, unless ``metadata`` has flags. The item's twin (``GenericSchema``) is deleted, unless the twin
  /// cannot be read now or requires something.
  public var replaces = false
  /// Attributes that no item of the vault may have, all of them together; empty without such a rule.
  public var unique: [String: String] = [:]
  /// The passphrase of a new item, or the new passphrase of a replaced item.
  public var passphrase: NewItemPassphrase?
  /// When a new item was stored and changed elsewhere; never later than now.
  public var times = ItemTimes()
  /// The person's grant for an item that is replaced. A call may use the grant up.
  public var granted: (Int64) -> AccessGrant? = { _ in nil }

  /// A new item, with the usual values elsewhere.
  public init(_ metadata: ItemMetadata, in collection: Int64, accessibility: AccessibilityClass? = nil) {
    (self.metadata, self.collection, self.accessibility) = (metadata, collection, accessibility)
  }
}

/// The item that a ``NewItem`` became, on the disk.
public struct StoredItem {
  /// The item's number.
  public let id: Int64
  /// Whether the item is new, and replaced no other item.
  public let isNew: Bool
  /// The twin that was deleted.
  public let removed: [Int64]
}

/// The times at which an item was stored and last changed in the place that it came from, in seconds since 1970; nil for an unknown
/// time.
public struct ItemTimes: Equatable, Sendable {
  /// When the item was stored.
  public var created: UInt64?
  /// When the item was last changed.
  public var modified: UInt64?

  /// Puts the values together.
  public init(created: UInt64? = nil, modified: UInt64? = nil) { (self.created, self.modified) = (created, modified) }
}
