import LatchkeySecretClient

/// One secret of another program, with the facts that the program stores about it.
public struct ForeignItem {
  /// The item's label, for people.
  public let label: String
  /// The item's attributes, exactly as the other program stores them.
  public let attributes: [String: String]
  /// The secret itself.
  public let secret: Secret
  /// The time at which the item was stored there, in seconds since 1970; 0 if the time is unknown.
  public let created: UInt64
  /// The time at which the item was last changed there; 0 if the time is unknown.
  public let modified: UInt64
  /// The item's protection in the old place.
  public let protection: Protection

  /// The class of an item, and its requirements, in the words of the command line. A text is empty if the old place does not store
  /// it.
  public struct Protection: Equatable, Sendable {
    /// The name of the item's class.
    public let accessible: String
    /// The requirements for each read.
    public let require: String

    /// Puts the protection together.
    public init(accessible: String = "", require: String = "") {
      (self.accessible, self.require) = (accessible, require)
    }
  }

  /// Puts the item together.
  public init(
    label: String, attributes: [String: String], secret: Secret, created: UInt64 = 0, modified: UInt64 = 0,
    protection: Protection = Protection()
  ) {
    (self.label, self.attributes, self.secret) = (label, attributes, secret)
    (self.created, self.modified, self.protection) = (created, modified, protection)
  }
}

extension ForeignItem {
  /// The item, with the schema of the Secret portal if it is an application's secret in the form of another provider. oo7 and old
  /// versions of gnome-keyring store no schema, or the generic one. Latchkey's portal gives an application only an item with its
  /// schema.
  public var markedForPortal: ForeignItem {
    let schema = attributes["xdg:schema"]
    guard attributes["app_id"] != nil, attributes.count == (schema == nil ? 1 : 2),
      schema == nil || schema == "org.freedesktop.Secret.Generic", secret.count == ForeignItem.portalSize
    else { return self }
    return ForeignItem(
      label: label, attributes: attributes.merging(["xdg:schema": "org.freedesktop.portal.Secret"]) { $1 },
      secret: secret,
      created: created, modified: modified, protection: protection)
  }

  /// The size of the secret that every backend of the portal gives an application, in bytes.
  private static let portalSize = 64
}

/// A group of items in another program.
public struct ForeignCollection {
  /// The collection's name in the other program: a file's name without its ending, or the last part of a path.
  public let name: String
  /// The collection's label, for people.
  public let label: String
  /// The label of which the other program made the path, if known; nil if only the label is known.
  public let firstLabel: String?
  /// The collection's items, in the order in which they were read.
  public let items: [ForeignItem]

  /// Puts the collection together.
  public init(name: String, label: String, firstLabel: String? = nil, items: [ForeignItem]) {
    (self.name, self.label, self.firstLabel, self.items) = (name, label, firstLabel, items)
  }
}
