import Glibc
import LatchkeyBytes
import LatchkeyKeybag
import LatchkeyReasons
import LatchkeySodium

/// The common form of all packets of the device key service's socket: version, operation or outcome, fields.
/// docs/developer/protocols.md has them byte by byte.
public enum DevicePacket {
  static let version: UInt8 = 1
  /// The largest packet, in bytes.
  public static let sizeLimit = 512
  /// The longest context of a share, in bytes.
  public static let contextLimit = 64
  /// A vault's id, in bytes.
  static let vaultSize = 16
  /// The size of a wrapped share, in bytes.
  public static let wrappedSize = Key.size + AEAD.overhead

  enum Operation: UInt8 {
    case identity = 1
    case wrap = 2
    case unwrap = 3
    case eraseErasable = 4
    case move = 5
    case forget = 6
    case note = 7
    case session = 8
    case hold = 9
    case drop = 10
    case held = 11
    case verify = 12
    case touch = 13
    case leave = 14
    case makeKey = 15
  }

  enum Outcome: UInt8 {
    case done = 0
    case otherDevice = 1
    case unavailable = 2
    case refused = 3
  }

  static func code(_ backend: DeviceKeyBackend) -> UInt8 {
    switch backend {
    case .file: 0
    case .host: 1
    case .tpm: 2
    }
  }

  static func backend(_ code: UInt8) -> DeviceKeyBackend? {
    switch code {
    case 1: .host
    case 2: .tpm
    default: nil
    }
  }
}

/// A peer's request to the device key service. The kernel, and never the packet, tells the peer's user.
public enum DeviceRequest: ~Copyable {
  /// Return the identity of the device for this peer.
  case identity
  /// Wrap a share.
  case wrap(Key, DeviceShareKind, context: [UInt8])
  /// Unwrap a share.
  case unwrap([UInt8], DeviceShareKind, context: [UInt8])
  /// Erase the erasable secret of a user.
  case eraseErasable(uid_t)
  /// Move the device secret to another place.
  case move(DeviceKeyBackend)
  /// Erase everything that the service keeps for a user.
  case forget(uid_t)
  /// Remember the generations of a vault's files.
  case note(VaultGenerations, vault: [UInt8], isBeginning: Bool)
  /// From now on this connection serves only a login of a user.
  case session(uid_t)
  /// Make a key for this connection, to which the peer seals what it hands over.
  case makeKey
  /// Hold a covering key of this peer's user, and let a finger release it. From now on this connection is its holder. The bytes
  /// are a sealed ``HandedKey``.
  case hold([UInt8])
  /// Erase the covering key that this connection holds.
  case drop
  /// Say whether the service holds a covering key of a user.
  case held(uid_t)
  /// Verify a finger of a user, and then give that user's covering key to its holder.
  case verify(uid_t)
  /// Verify a finger of this holder's user, and then give the covering key to this holder. The answers have this number.
  case touch(UInt32)
  /// End the verification with this number.
  case leave(UInt32)
  /// A request that this version does not know.
  case malformed

  /// Reads a packet. Any deviation makes it malformed.
  public init(decoding packet: RawSpan) {
    self = (try? DeviceRequest.read(packet)) ?? .malformed
  }

  private static func read(_ packet: RawSpan) throws -> DeviceRequest {
    guard packet.byteCount >= 2, packet[0] == DevicePacket.version,
      let operation = DevicePacket.Operation(rawValue: packet[1])
    else { return .malformed }
    // The share at the end of `wrap` must not come into ordinary memory.
    let open = max(2, packet.byteCount - (operation == .wrap ? Key.size : 0))
    var input = ByteReader(packet.extracting(first: min(open, 4 + DevicePacket.contextLimit)).octets)
    _ = try input.take(2)
    func ends(_ size: Int) -> Bool { packet.byteCount == size }
    /// Reads a request whose only field is a user or the number of a touch.
    func numbered(_ request: (UInt32) -> DeviceRequest) throws -> DeviceRequest {
      let number: UInt32 = try input.number()
      return ends(6) ? request(number) : .malformed
    }
    switch operation {
    case .identity: return ends(2) ? .identity : .malformed
    case .eraseErasable: return try numbered { .eraseErasable($0) }
    case .forget: return try numbered { .forget($0) }
    case .session: return try numbered { .session($0) }
    case .makeKey: return ends(2) ? .makeKey : .malformed
    case .hold:
      guard ends(input.position + HandedKey.sealedSize) else { return .malformed }
      return .hold(packet.extracting(droppingFirst: input.position).octets)
    case .drop: return ends(2) ? .drop : .malformed
    case .held: return try numbered { .held($0) }
    case .verify: return try numbered { .verify($0) }
    case .touch: return try numbered { .touch($0) }
    case .leave: return try numbered { .leave($0) }
    case .move:
      guard let backend = DevicePacket.backend(try input.number()), ends(3) else { return .malformed }
      return .move(backend)
    case .note:
      let vault = try input.take(DevicePacket.vaultSize)
      let generations = VaultGenerations(keybag: try input.number(), database: try input.number())
      let beginning: UInt8 = try input.number()
      guard beginning <= 1, ends(input.position) else { return .malformed }
      return .note(generations, vault: vault, isBeginning: beginning == 1)
    case .wrap, .unwrap:
      guard let kind = DeviceShareKind(rawValue: try input.number()) else { return .malformed }
      let length = Int(try input.number(UInt8.self))
      guard length <= DevicePacket.contextLimit else { return .malformed }
      let context = try input.take(length)
      let rest = packet.extracting(droppingFirst: input.position)
      if operation == .wrap {
        guard rest.byteCount == Key.size else { return .malformed }
        return .wrap(try Key(copying: rest), kind, context: context)
      }
      guard rest.byteCount == DevicePacket.wrappedSize else { return .malformed }
      return .unwrap(rest.octets, kind, context: context)
    }
  }
}

/// Makes request packets for senders. They are in locked memory, because some carry a secret.
extension DevicePacket {
  static func begin(_ operation: Operation, _ fields: [UInt8] = []) throws(SodiumError) -> SecureBytes {
    let packet = [version, operation.rawValue] + fields
    return try SecureBytes(copying: packet.span.bytes)
  }

  private static func share(_ operation: Operation, _ kind: DeviceShareKind, _ context: [UInt8]) -> [UInt8] {
    [version, operation.rawValue, kind.rawValue, UInt8(clamping: context.count)] + context
  }

  private static func joined(_ head: [UInt8], _ secret: borrowing Key) throws(SodiumError) -> SecureBytes {
    var packet = try SecureBytes(count: head.count + Key.size)
    packet.write(head.span.bytes, at: 0)
    packet.write(secret.bytes, at: head.count)
    return packet
  }

  static func number(_ value: UInt32) -> [UInt8] {
    var out = ByteWriter()
    out.number(value)
    return out.bytes
  }

  /// Return the device's identity.
  public static func identity() throws(SodiumError) -> SecureBytes { try begin(.identity) }

  /// Wrap a share.
  public static func wrap(
    _ share: borrowing Key, _ kind: DeviceShareKind, context: [UInt8]
  ) throws(SodiumError) -> SecureBytes {
    try joined(self.share(.wrap, kind, context), share)
  }

  /// Unwrap a share.
  public static func unwrap(
    _ wrapped: [UInt8], _ kind: DeviceShareKind, context: [UInt8]
  ) throws(SodiumError) -> SecureBytes {
    let packet = share(.unwrap, kind, context) + wrapped
    return try SecureBytes(copying: packet.span.bytes)
  }

  /// Erase the erasable secret of a user.
  public static func eraseErasable(of user: uid_t) throws(SodiumError) -> SecureBytes {
    try begin(.eraseErasable, number(user))
  }

  /// Move the device secret to another place.
  public static func move(to backend: DeviceKeyBackend) throws(SodiumError) -> SecureBytes {
    try begin(.move, [code(backend)])
  }

  /// Erase everything that the service keeps for a user.
  public static func forget(_ user: uid_t) throws(SodiumError) -> SecureBytes { try begin(.forget, number(user)) }

  /// From now on this connection serves a user's login.
  public static func session(of user: uid_t) throws(SodiumError) -> SecureBytes { try begin(.session, number(user)) }

  /// Remember the generations of a vault's files. The vault's id has 16 bytes.
  public static func note(
    _ generations: VaultGenerations, of vault: [UInt8], isBeginning: Bool
  ) throws(SodiumError) -> SecureBytes {
    var out = ByteWriter()
    out.put(vault)
    out.number(generations.keybag)
    out.number(generations.database)
    out.number(UInt8(isBeginning ? 1 : 0))
    return try begin(.note, out.bytes)
  }
}

/// The device key service's answers, as packets in locked memory.
public enum DeviceReply {
  /// The longest reason, in bytes; longer reasons are cut.
  private static let reasonLimit = 400

  static func packet(_ outcome: DevicePacket.Outcome, _ fields: [UInt8] = []) throws(SodiumError) -> SecureBytes {
    let packet = [DevicePacket.version, outcome.rawValue] + fields
    return try SecureBytes(copying: packet.span.bytes)
  }

  /// The reply to `identity`: 16 bytes, and the place of the device secret.
  public static func identity(_ identity: [UInt8], _ backend: DeviceKeyBackend) throws(SodiumError) -> SecureBytes {
    try packet(.done, identity + [DevicePacket.code(backend)])
  }

  /// The reply to `wrap`: 72 bytes.
  public static func wrapped(_ wrapped: [UInt8]) throws(SodiumError) -> SecureBytes { try packet(.done, wrapped) }

  /// The reply to `unwrap`.
  public static func unwrapped(_ share: borrowing Key) throws(SodiumError) -> SecureBytes {
    var packet = try SecureBytes(count: 2 + Key.size)
    packet.write([DevicePacket.version, DevicePacket.Outcome.done.rawValue].span.bytes, at: 0)
    packet.write(share.bytes, at: 2)
    return packet
  }

  /// The reply to `note`: the generations that the service remembered before.
  public static func noted(_ before: VaultGenerations?) throws(SodiumError) -> SecureBytes {
    var out = ByteWriter()
    out.number(UInt8(before == nil ? 0 : 1))
    out.number(before?.keybag ?? 0)
    out.number(before?.database ?? 0)
    return try packet(.done, out.bytes)
  }

  /// The reply to all other requests.
  public static func done() throws(SodiumError) -> SecureBytes { try packet(.done) }

  /// The reply after a failure of the device key.
  public static func failed(_ error: DeviceKeyError) throws(SodiumError) -> SecureBytes {
    switch error {
    case .otherDevice: try packet(.otherDevice)
    case .unavailable(let reason): try packet(.unavailable, bytes(reason))
    }
  }

  /// The reply if the peer may not make this request, with the reason.
  public static func refused(_ reason: Reason) throws(SodiumError) -> SecureBytes {
    try packet(.refused, bytes(reason))
  }

  private static func bytes(_ reason: Reason) -> [UInt8] {
    var out = ByteWriter()
    reason.encode(into: &out, limit: reasonLimit)
    return out.bytes
  }
}
