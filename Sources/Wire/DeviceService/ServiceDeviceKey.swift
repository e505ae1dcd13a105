import Glibc
import LatchkeyBytes
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySodium

/// The device key of the system service `latchkey-deviced`: the client's end of the service's socket. The kernel tells the service
/// which user asks.
///
/// Each request makes a new connection, because an idle service ends. No request takes longer than ``timeout``, and all requests in
/// one turn of an event loop together take no longer than its ``TurnLimit``.
public final class ServiceDeviceKey: DeviceKey, GenerationMemory {
  /// The path of the service's socket.
  public static let path = "/run/latchkey/device.sock"
  /// The longest wait for an answer, in milliseconds.
  public static let timeout = 2000

  private let path: String
  private let limit: TurnLimit?
  /// The identity that the service returned.
  public let identity: [UInt8]
  /// The place where the service keeps its secret.
  public let backend: DeviceKeyBackend

  /// Asks the service at `path` for its identity.
  ///
  /// - Parameter limit: how long the caller's event loop may wait for the service.
  /// - Returns: nil if the service is not installed.
  public static func find(at path: String, within limit: TurnLimit? = nil) throws(DeviceKeyError) -> ServiceDeviceKey? {
    guard access(path, F_OK) == 0 || errno != ENOENT else { return nil }
    return try ServiceDeviceKey(path: path, limit: limit)
  }

  private init(path: String, limit: TurnLimit?) throws(DeviceKeyError) {
    self.path = path
    self.limit = limit
    let packet = try ServiceDeviceKey.packet { () throws(SodiumError) in try DevicePacket.identity() }
    let answer = try ServiceDeviceKey.ask(packet, at: path, timeout: ServiceDeviceKey.timeout, limit)
    let bytes = answer.bytes.octets
    guard bytes.count == 17, let code = bytes.last, let backend = DevicePacket.backend(code) else {
      throw ServiceDeviceKey.strange
    }
    identity = Array(bytes.prefix(16))
    self.backend = backend
  }

  static let silent = DeviceKeyError.unavailable(.device(.silent))
  static let strange = DeviceKeyError.unavailable(.device(.invalidReply))

  static func packet(
    _ make: () throws(SodiumError) -> SecureBytes
  ) throws(DeviceKeyError) -> SecureBytes {
    do throws(SodiumError) { return try make() } catch { throw .unavailable(.device(.noMemory)) }
  }

  /// Wraps `share` for this user on this device.
  public func wrap(
    _ share: borrowing Key, _ kind: DeviceShareKind, context: [UInt8]
  ) throws(DeviceKeyError) -> [UInt8] {
    let packet: SecureBytes
    do throws(SodiumError) { packet = try DevicePacket.wrap(share, kind, context: context) } catch {
      throw .unavailable(.device(.noMemory))
    }
    let answer = try ServiceDeviceKey.ask(packet, at: path, timeout: ServiceDeviceKey.timeout, limit)
    guard answer.count == DevicePacket.wrappedSize else { throw ServiceDeviceKey.strange }
    return answer.bytes.octets
  }

  /// Unwraps a share of ``wrap(_:_:context:)`` for this user on this device.
  public func unwrap(_ wrapped: [UInt8], _ kind: DeviceShareKind, context: [UInt8]) throws(DeviceKeyError) -> Key {
    // The service accepts no other size, and disconnects a client that sends another one.
    guard wrapped.count == DevicePacket.wrappedSize, context.count <= DevicePacket.contextLimit else {
      throw .otherDevice
    }
    let packet = try ServiceDeviceKey.packet { () throws(SodiumError) in
      try DevicePacket.unwrap(wrapped, kind, context: context)
    }
    let answer = try ServiceDeviceKey.ask(packet, at: path, timeout: ServiceDeviceKey.timeout, limit)
    do throws(SodiumError) { return try Key(answer) } catch {
      throw error == .outOfMemory ? .unavailable(.device(.noMemory)) : ServiceDeviceKey.strange
    }
  }

  /// Makes the service erase this user's erasable secret.
  public func eraseErasable(in folder: borrowing Folder) throws(DeviceKeyError) {
    let packet = try ServiceDeviceKey.packet { () throws(SodiumError) in
      try DevicePacket.eraseErasable(of: getuid())
    }
    let answer = try ServiceDeviceKey.ask(packet, at: path, timeout: ServiceDeviceKey.timeout, limit)
    guard answer.count == 0 else { throw ServiceDeviceKey.strange }
  }

  /// The service itself remembers the generations of this user's vaults.
  public var memory: (any GenerationMemory)? { self }

  /// Makes the service remember the generations of this user's vault.
  public func note(
    _ generations: VaultGenerations, of vault: [UInt8], isBeginning: Bool, until deadline: Int
  ) throws(DeviceKeyError) -> VaultGenerations? {
    // If the service was removed, it remembers nothing. This is not a failure of the device key.
    guard access(path, F_OK) == 0 || errno != ENOENT else { throw .otherDevice }
    let packet = try ServiceDeviceKey.packet { () throws(SodiumError) in
      try DevicePacket.note(generations, of: vault, isBeginning: isBeginning)
    }
    let answer = try ServiceDeviceKey.ask(packet, at: path, timeout: max(0, deadline - Process.now), limit)
    var input = ByteReader(answer.bytes.octets)
    guard let isKnown = try? input.number(UInt8.self), isKnown <= 1, let keybag = try? input.number(UInt64.self),
      let database = try? input.number(UInt64.self), input.remaining == 0
    else { throw ServiceDeviceKey.strange }
    return isKnown == 1 ? VaultGenerations(keybag: keybag, database: database) : nil
  }

  /// A command. Its answer only says whether the service has done it.
  public enum Command: Sendable {
    /// Erase the erasable secret of a user.
    case eraseErasable(uid_t)
    /// Move the device secret to another place.
    case move(DeviceKeyBackend)
    /// Erase everything that the service keeps for a user.
    case forget(uid_t)
  }

  /// Sends a command to the service at `path`.
  ///
  /// - Parameter timeout: the longest wait for the answer, in milliseconds.
  public static func run(_ command: Command, at path: String, timeout: Int) throws(DeviceKeyError) {
    let packet = try packet { () throws(SodiumError) in
      switch command {
      case .eraseErasable(let user): try DevicePacket.eraseErasable(of: user)
      case .move(let backend): try DevicePacket.move(to: backend)
      case .forget(let user): try DevicePacket.forget(user)
      }
    }
    let answer = try ask(packet, at: path, timeout: timeout, nil)
    guard answer.count == 0 else { throw strange }
  }

  /// Sends a packet, and returns the fields of the answer.
  private static func ask(
    _ packet: borrowing SecureBytes, at path: String, timeout: Int, _ limit: TurnLimit?
  ) throws(DeviceKeyError) -> SecureBytes {
    let deadline = Process.now + timeout
    guard let limit else { return try ask(packet, at: path, until: Deadline(deadline)) }
    let own = try limit.begin(until: deadline)
    defer { limit.end() }
    do throws(DeviceKeyError) {
      let answer = try ask(packet, at: path, until: own)
      (limit.isSilent, limit.wasBrokenOff) = (false, false)
      return answer
    } catch {
      if error == silent { limit.isSilent = true }
      limit.wasBrokenOff = error == .brokenOff
      throw error
    }
  }

  private static func ask(
    _ packet: borrowing SecureBytes, at path: String, until deadline: Deadline
  ) throws(DeviceKeyError) -> SecureBytes {
    while true {
      let socket = try connect(to: path, until: deadline)
      if let answer = try ask(packet, on: socket, until: deadline) { return answer }
      // The service closed the connection before it read the packet, because it had too many connections. So it did nothing, and
      // may have room in a moment.
      usleep(10_000)
    }
  }

  /// A connection to the service at `path`.
  static func connect(to path: String, until deadline: Deadline) throws(DeviceKeyError) -> LocalSocket {
    do throws(PosixError) {
      let socket = try LocalSocket.connect(to: path, until: deadline)
      // Another user's program at this socket would receive the shares, so its user is checked.
      let listener = try socket.peer().uid
      guard listener == 0 || listener == geteuid() else { throw PosixError("its socket", code: EPERM) }
      return socket
    } catch { throw failure(error) }
  }

  private static func failure(_ error: PosixError) -> DeviceKeyError {
    switch error.code {
    case ETIMEDOUT: silent
    case ECANCELED: .brokenOff  // This says nothing about the service.
    default: .unavailable(.verbatim(error.description))
    }
  }

  /// The fields of the answer on a connection; nil if the service closed the connection before it read the packet.
  static func ask(
    _ packet: borrowing SecureBytes, on socket: borrowing LocalSocket, until deadline: Deadline
  ) throws(DeviceKeyError) -> SecureBytes? {
    var answer: SecureBytes
    do throws(SodiumError) { answer = try SecureBytes(count: DevicePacket.sizeLimit) } catch {
      throw .unavailable(.device(.noMemory))
    }
    let size: Int
    do throws(PosixError) { size = try exchange(packet, &answer, on: socket, until: deadline) } catch {
      // The kernel returns ECONNRESET only if the service has not read the packet.
      guard error.code == EPIPE || error.code == ECONNRESET else { throw failure(error) }
      return nil
    }
    guard size > 0 else { throw .unavailable(.device(.ended)) }
    let bytes = answer.bytes.extracting(first: size)
    guard size >= 2, bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self) == DevicePacket.version,
      let outcome = DevicePacket.Outcome(rawValue: bytes.unsafeLoad(fromByteOffset: 1, as: UInt8.self))
    else { throw strange }
    let fields = bytes.extracting(droppingFirst: 2)
    switch outcome {
    case .done:
      do throws(SodiumError) { return try SecureBytes(copying: fields) } catch {
        throw .unavailable(.device(.noMemory))
      }
    case .otherDevice: throw .otherDevice
    case .unavailable, .refused:
      var input = ByteReader(fields.octets)
      throw .unavailable(Reason(decoding: &input) ?? .device(.unexplained))
    }
  }

  private static func exchange(
    _ packet: borrowing SecureBytes, _ answer: inout SecureBytes, on socket: borrowing LocalSocket,
    until deadline: Deadline
  ) throws(PosixError) -> Int {
    try socket.send(packet.bytes)
    try socket.waitForPacket(until: deadline)
    let size = try socket.receive(into: answer.mutableBytes)
    return size ?? 0
  }
}
