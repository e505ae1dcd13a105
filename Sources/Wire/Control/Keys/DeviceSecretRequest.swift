import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// Asks the daemon for the secret of a protector without a password, because only the daemon uses the device key. The answer is
/// encrypted to a key that is made for this request, so that answers need no locked memory.
public struct DeviceSecretRequest: ControlMessage, Equatable {
  package typealias Answer = SealedDeviceSecret
  package static let operation: UInt8 = 24

  /// The secrets that a request can name.
  public enum Wanted: Equatable, Sendable {
    /// The secret of the keybag's protector.
    case present
    /// A new secret, for the protector of this name (16 bytes) in this vault (16 bytes).
    case new(vault: [UInt8], protector: [UInt8])
  }

  /// The secret that is requested.
  public let wanted: Wanted
  /// The public key to which the answer is sealed: 32 bytes.
  public let publicKey: [UInt8]

  private static let nameSize = 16

  /// Makes a value from its parts.
  public init(_ wanted: Wanted, publicKey: [UInt8]) {
    self.wanted = wanted
    self.publicKey = publicKey
  }

  package func encode(into out: inout ByteWriter) {
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

  package init?(decoding input: inout ByteReader) {
    guard let kind = try? input.number(UInt8.self), kind <= 1,
      let vault = try? input.take(DeviceSecretRequest.nameSize),
      let protector = try? input.take(DeviceSecretRequest.nameSize),
      let publicKey = try? input.take(SealedBox.publicKeySize),
      kind == 1 || (vault + protector).allSatisfy({ $0 == 0 })
    else { return nil }
    self.init(kind == 0 ? .present : .new(vault: vault, protector: protector), publicKey: publicKey)
  }
}

/// The daemon's answer: a secret for the program that asked, and the same secret wrapped by the device key.
public struct SealedDeviceSecret: ControlFields, Equatable, Sendable {
  /// The secret, wrapped by the device key.
  public let wrapping: DeviceSecret.Wrapping
  /// The secret, sealed to the public key of the request: 80 bytes.
  public let box: [UInt8]

  private static let boxSize = Key.size + SealedBox.overhead

  /// Seals a secret.
  ///
  /// - Throws: ``SodiumError/badArgument`` for an invalid public key.
  public init(_ secret: borrowing DeviceSecret, to publicKey: [UInt8]) throws(SodiumError) {
    wrapping = secret.wrapping
    box = try SealedBox.seal(secret.key.bytes, to: publicKey)
  }

  /// Decrypts the secret, for the program that made the request.
  func open(with mine: borrowing Key) throws(SodiumError) -> Key {
    try Key(try SealedBox.open(box.span.bytes, secret: mine))
  }

  package func encode(into out: inout ByteWriter) {
    out.put(wrapping.identity)
    out.put(wrapping.wrapped)
    out.put(box)
  }

  package init?(decoding input: inout ByteReader) {
    guard let identity = try? input.take(DeviceSecret.Wrapping.identitySize),
      let wrapped = try? input.take(DeviceSecret.Wrapping.wrappedSize),
      let wrapping = DeviceSecret.Wrapping(identity: identity, wrapped: wrapped),
      let box = try? input.take(SealedDeviceSecret.boxSize)
    else { return nil }
    self.wrapping = wrapping
    self.box = box
  }
}

extension ControlClient {
  /// Asks for a new secret for a protector without a password. The device key has wrapped it.
  ///
  /// - Throws: ``ControlError/declined(_:)`` if there is no device key.
  public borrowing func newDeviceSecret(vault: [UInt8], until deadline: Int) throws(ControlError) -> DeviceSecret {
    let protector = Sodium.randomBytes(16)
    let mine = try ControlClient.sodium { () throws(SodiumError) in try Key.random() }
    let sealed = try deviceSecret(.new(vault: vault, protector: protector), for: mine, until: deadline)
    return DeviceSecret(
      protector: protector, wrapping: sealed.wrapping,
      key: try ControlClient.sodium { () throws(SodiumError) in try sealed.open(with: mine) })
  }

  /// Asks for the secret of the keybag's protector without a password, which the device key unwraps.
  ///
  /// - Throws: ``ControlError/declined(_:)`` if there is no such protector, or the device key has changed.
  public borrowing func presentDeviceSecret(until deadline: Int) throws(ControlError) -> Key {
    let mine = try ControlClient.sodium { () throws(SodiumError) in try Key.random() }
    let sealed = try deviceSecret(.present, for: mine, until: deadline)
    return try ControlClient.sodium { () throws(SodiumError) in try sealed.open(with: mine) }
  }

  private borrowing func deviceSecret(
    _ wanted: DeviceSecretRequest.Wanted, for mine: borrowing Key, until deadline: Int
  ) throws(ControlError) -> SealedDeviceSecret {
    try ask(DeviceSecretRequest(wanted, publicKey: SealedBox.publicKey(of: mine)), until: deadline)
  }
}
