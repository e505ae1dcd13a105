import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// Asks the daemon, which alone speaks with the device key, for the secret of a protector without a password. The answer
/// is sealed to a key that is made for it, so that replies need no locked memory.
public struct DeviceSecretRequest: Equatable, Sendable {
  /// Which secret.
  public enum Wanted: Equatable, Sendable {
    /// That of the keybag's protector.
    case present
    /// A new one, for the protector of this name (16 bytes) of this vault (16 bytes).
    case new(vault: [UInt8], protector: [UInt8])
  }

  /// Which secret.
  public let wanted: Wanted
  /// What the answer is sealed to: 32 bytes.
  public let publicKey: [UInt8]

  private static let nameSize = 16

  /// Puts them together.
  public init(_ wanted: Wanted, publicKey: [UInt8]) {
    self.wanted = wanted
    self.publicKey = publicKey
  }

  func encode(into out: inout ByteWriter) {
    let none = [UInt8](repeating: 0, count: DeviceSecretRequest.nameSize)
    let (kind, vault, protector): (UInt8, [UInt8], [UInt8]) =
      switch wanted {
      case .present: (0, none, none)
      case .new(let vault, let protector): (1, vault, protector)
      }
    out.number(kind)
    out.put(vault)
    out.put(protector)
    out.put(publicKey)
  }

  init?(decoding input: inout ByteReader) {
    guard let kind = try? input.number(UInt8.self), kind <= 1,
      let vault = try? input.take(DeviceSecretRequest.nameSize),
      let protector = try? input.take(DeviceSecretRequest.nameSize),
      let publicKey = try? input.take(SealedBox.publicKeySize),
      kind == 1 || (vault + protector).allSatisfy({ $0 == 0 })
    else { return nil }
    self.init(kind == 0 ? .present : .new(vault: vault, protector: protector), publicKey: publicKey)
  }
}

/// The daemon's answer: a secret for whoever asked, and how the device key has wrapped it.
public struct SealedDeviceSecret: Equatable, Sendable {
  /// As the device key has wrapped it.
  public let wrapping: DeviceSecret.Wrapping
  /// The secret, sealed to the public key of the request: 80 bytes.
  public let box: [UInt8]

  private static let boxSize = Key.size + SealedBox.overhead

  /// Seals a secret.
  ///
  /// - Throws: ``SodiumError/badArgument`` for a public key that is none.
  public init(_ secret: borrowing DeviceSecret, to publicKey: [UInt8]) throws(SodiumError) {
    wrapping = secret.wrapping
    box = try SealedBox.seal(secret.key.bytes, to: publicKey)
  }

  /// The secret, for whoever made the request.
  func open(with mine: borrowing Key) throws(SodiumError) -> Key {
    try Key(try SealedBox.open(box.span.bytes, secret: mine))
  }

  func encode(into out: inout ByteWriter) {
    out.put(wrapping.identity)
    out.put(wrapping.wrapped)
    out.put(box)
  }

  init?(decoding input: inout ByteReader) {
    guard let identity = try? input.take(DeviceSecret.Wrapping.identitySize),
      let wrapped = try? input.take(DeviceSecret.Wrapping.wrappedSize),
      let wrapping = DeviceSecret.Wrapping(identity: identity, wrapped: wrapped),
      let box = try? input.take(SealedDeviceSecret.boxSize)
    else { return nil }
    self.wrapping = wrapping
    self.box = box
  }
}
