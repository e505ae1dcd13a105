/// A collection's label, and the name that its object path has. Both are sealed together, because the name is made from the label.
public struct CollectionTitle: Equatable, Sendable {
  /// The label, for a person.
  public let label: String
  /// The last part of the collection's object path; nil if no name was kept with the label.
  public let name: String?

  /// Puts the values together.
  public init(label: String, name: String?) { (self.label, self.name) = (label, name) }

  /// No text of D-Bus has a NUL, so no label has this.
  private static let separator: [UInt8] = [0, UInt8(ascii: "/")]

  /// The bytes to seal. If there is no name, they are only the label.
  public var encoded: [UInt8] {
    guard let name else { return Array(label.utf8) }
    return Array(label.utf8) + Self.separator + Array(name.utf8)
  }

  /// Reads ``encoded``.
  public init(decoding bytes: [UInt8]) {
    guard let end = bytes.firstIndex(of: 0), bytes[end...].starts(with: Self.separator) else {
      self.init(label: String(decoding: bytes, as: UTF8.self), name: nil)
      return
    }
    self.init(
      label: String(decoding: bytes[..<end], as: UTF8.self),
      name: String(decoding: bytes[(end + Self.separator.count)...], as: UTF8.self))
  }
}
