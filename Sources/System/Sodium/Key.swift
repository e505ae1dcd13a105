import CLatchkeySodium

/// A secret key of 32 bytes in locked memory; erased when the value ends.
public struct Key: ~Copyable {
  /// The size of every key, in bytes.
  public static let size = 32

  private let material: SecureBytes

  /// Takes over `material`, which must be 32 bytes.
  ///
  /// - Throws: ``SodiumError/badArgument`` for another size.
  public init(_ material: consuming SecureBytes) throws(SodiumError) {
    guard material.count == Key.size else { throw .badArgument }
    self.material = material
  }

  /// A copy of 32 bytes that the caller keeps.
  public init(copying bytes: RawSpan) throws(SodiumError) {
    try self.init(try SecureBytes(copying: bytes))
  }

  /// A new key from the kernel's generator.
  public static func random() throws(SodiumError) -> Key {
    try Key(try SecureBytes.random(count: size))
  }

  /// The key's bytes, lent for as long as the key is borrowed.
  public var bytes: RawSpan {
    @_lifetime(borrow self)
    borrowing get { material.bytes }
  }

  /// A second owner of the same key, for the rare place that outlives the first owner.
  public borrowing func duplicate() throws(SodiumError) -> Key {
    try Key(copying: bytes)
  }
}
