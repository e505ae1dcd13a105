import LatchkeySodium

/// The key of a protector that depends on the device key, for a vault without a password or for a session: 32 random bytes that
/// only the device key unwraps.
public struct DeviceSecret: ~Copyable {
  /// The name of the secret's protector: 16 random bytes.
  public let protector: [UInt8]
  /// The secret, wrapped by the device key.
  public let wrapping: Wrapping
  /// The secret itself.
  public let key: Key

  /// A secret that the device key has wrapped. The wrapped form is not secret.
  public struct Wrapping: Equatable, Sendable {
    /// The device key's identity: 16 bytes.
    public let identity: [UInt8]
    /// The wrapped secret, in the kind ``DeviceShareKind/bound``, or ``DeviceShareKind/session``: 72 bytes.
    public let wrapped: [UInt8]

    /// The sizes of both, in bytes.
    public static let (identitySize, wrappedSize) = (16, Key.size + AEAD.overhead)

    /// nil for anything of another size.
    public init?(identity: [UInt8], wrapped: [UInt8]) {
      guard identity.count == Wrapping.identitySize, wrapped.count == Wrapping.wrappedSize else { return nil }
      (self.identity, self.wrapped) = (identity, wrapped)
    }
  }

  /// Makes the value from the bytes that the device key has wrapped for the protector of that name.
  public init(protector: [UInt8], wrapping: Wrapping, key: consuming Key) {
    self.protector = protector
    self.wrapping = wrapping
    self.key = key
  }

  /// The context to which the device key binds the wrapping. It is twice as long as a share's context, so nobody can use one in
  /// place of the other.
  public static func context(vault: [UInt8], protector: [UInt8]) -> [UInt8] { vault + protector }
}
