import LatchkeyKeybag

/// The items of the vault that have the same attributes in one collection. Only the facts that a restore needs are kept,
/// because a vault may be larger than the memory.
final class RestoreGroup {
  struct Name: Hashable {
    let collection: Int64
    /// The tokens of every set of attributes that means the same.
    let tokens: [[UInt8]]
  }

  /// One of the group's items.
  struct Candidate {
    enum Use {
      case free, same, replaced
    }
    let id: Int64
    let uuid: [UInt8]
    let created: UInt64
    let accessibility: AccessibilityClass
    /// The item's key; every write gives the item another key.
    let itemKey: [UInt8]
    /// The fingerprint of the item's secret; nil if the secret cannot be read.
    let tag: [UInt8]?
    var use = Use.free

    init(_ item: SealedItem, tag: [UInt8]?) {
      (id, uuid, created, itemKey) = (item.row.id, item.row.uuid, item.row.created, item.row.itemKey)
      accessibility = item.key.row.accessibility
      self.tag = tag
    }
  }

  let name: Name
  var candidates: [Candidate]

  init(_ name: Name, _ candidates: [Candidate]) {
    self.name = name
    self.candidates = candidates
  }
}
