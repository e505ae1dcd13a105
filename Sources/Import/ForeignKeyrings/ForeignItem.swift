import LatchkeySecretClient

/// One secret of another program, with what that program knows of it.
public struct ForeignItem {
  /// What people see of it.
  public let label: String
  /// What it is found by, exactly as the other program has it.
  public let attributes: [String: String]
  /// The secret itself.
  public let secret: Secret
  /// When it was stored there, in seconds since 1970; 0 where that is unknown.
  public let created: UInt64
  /// When it was last changed there; 0 where that is unknown.
  public let modified: UInt64

  /// Puts it together.
  public init(
    label: String, attributes: [String: String], secret: Secret, created: UInt64 = 0, modified: UInt64 = 0
  ) {
    (self.label, self.attributes, self.secret) = (label, attributes, secret)
    (self.created, self.modified) = (created, modified)
  }
}

/// The items that another program keeps together.
public struct ForeignCollection {
  /// What the other program calls it: a file's name without its ending, or the last part of a path.
  public let name: String
  /// What people see of it.
  public let label: String
  /// In the order in which they were read.
  public let items: [ForeignItem]

  /// Puts it together.
  public init(name: String, label: String, items: [ForeignItem]) {
    (self.name, self.label, self.items) = (name, label, items)
  }
}
