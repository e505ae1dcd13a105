import LatchkeySSHProtocol

/// A key that the agent offers: an item of the vault, or of the session's collection.
struct AgentKey {
  /// The item's object.
  let path: String
  /// Whether `ssh-add` brought the key. Such a key ends with the session.
  let isOfSession: Bool
  let item: KeyItem
  let comment: String
  /// The moment at which the item was stored, in seconds since 1970.
  let created: UInt64
  /// The item's requirements for each reading; empty if it has none.
  let require: String
  let destinations: [DestinationConstraint]

  /// Nil if the attributes belong to no key.
  init?(
    path: String, isOfSession: Bool, attributes: [String: String], label: String, created: UInt64, require: String = ""
  ) {
    guard let item = KeyItem(attributes: attributes) else { return nil }
    let reader = SSHReader(0..<item.destinations.count)
    guard let destinations = try? DestinationConstraint.read(item.destinations.span.bytes, reader) else { return nil }
    (self.path, self.isOfSession, self.item, self.comment) = (path, isOfSession, item, label)
    (self.created, self.require, self.destinations) = (created, require, destinations)
  }
}
