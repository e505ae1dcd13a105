import LatchkeyKeybag

/// The facts about an item without its secret.
public struct ItemInfo: Equatable, Sendable {
  /// 16 bytes that no other item has, in no vault.
  public let uuid: [UInt8]
  /// Label and attributes; nil while they cannot be read.
  public let metadata: ItemMetadata?
  /// When the secret may be read.
  public let accessibility: AccessibilityClass
  /// Whether the item's secret can be read now.
  public let readability: Readability
  /// The item's requirements beside keys; nil while the label cannot be read.
  public let access: AccessControl?
  /// When the item was created, in seconds since 1970.
  public let created: UInt64
  /// When the item last changed, in seconds since 1970.
  public let modified: UInt64
}
