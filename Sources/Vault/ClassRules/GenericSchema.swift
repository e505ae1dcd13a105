/// libsecret's schema for items that have no schema of their own.
///
/// An item without the attribute `xdg:schema` counts as one of this schema, as with gnome-keyring. Some clients store and search
/// without a schema, and others with this schema. Both mean the same item. So every comparison of an item with attributes adds this
/// schema if it is missing. The vault never stores it, so that an item keeps exactly the attributes that its program gave.
public enum GenericSchema {
  /// The attribute that names an item's schema.
  public static let attribute = "xdg:schema"
  /// The schema's name.
  public static let name = "org.freedesktop.Secret.Generic"

  /// Whether attributes name this schema.
  public static func isNamed(by attributes: [String: String]) -> Bool { attributes[attribute] == name }

  /// The attributes without this schema. Attributes with another schema stay unchanged.
  public static func leftOut(of attributes: [String: String]) -> [String: String] {
    guard isNamed(by: attributes) else { return attributes }
    var rest = attributes
    rest[attribute] = nil
    return rest
  }

  /// Whether an item with one set of attributes counts as an item with the other set.
  public static func areSame(_ one: [String: String], _ other: [String: String]) -> Bool {
    leftOut(of: one) == leftOut(of: other)
  }

  /// Every set that means the same as `attributes`. If there are two, the set without a schema comes first. A set without any other
  /// attribute has only one spelling, because many unrelated items have no other attribute.
  public static func spellings(of attributes: [String: String]) -> [[String: String]] {
    let rest = leftOut(of: attributes)
    guard rest[attribute] == nil, !rest.isEmpty else { return [attributes] }
    var named = rest
    named[attribute] = name
    return [rest, named]
  }

  /// Whether an item with these attributes is found by a search for `wanted`.
  public static func matches(_ attributes: [String: String], _ wanted: [String: String]) -> Bool {
    wanted.allSatisfy { attributes[$0.key] == $0.value || ($0.key == attribute && isImplied(attributes, $0.value)) }
  }

  private static func isImplied(_ attributes: [String: String], _ schema: String) -> Bool {
    schema == name && attributes[attribute] == nil
  }
}
