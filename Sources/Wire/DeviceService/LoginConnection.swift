import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// A connection to the device key service that root opened for a login of a user. After that, any process that holds the connection
/// can get the secret of this user's session protector by it, and nothing else.
///
/// So a process can announce the login while it is root, and later read the user's files when it is no longer root.
public struct LoginConnection: ~Copyable {
  private let socket: LocalSocket

  /// Connects to the service at `path`.
  ///
  /// - Parameter deadline: the latest moment for an answer, on the clock of `Process.now`.
  /// - Throws: ``DeviceKeyError/unavailable(_:)``, for example if the process is not root.
  public init(of user: uid_t, at path: String, until deadline: Int) throws(DeviceKeyError) {
    let packet = try ServiceDeviceKey.packet { () throws(SodiumError) in try DevicePacket.session(of: user) }
    while true {
      let connected = try ServiceDeviceKey.connect(to: path, until: Deadline(deadline))
      guard let answer = try ServiceDeviceKey.ask(packet, on: connected, until: Deadline(deadline)) else {
        // The service has too many connections. There may be room in a moment.
        usleep(10_000)
        continue
      }
      guard answer.count == 0 else { throw ServiceDeviceKey.strange }
      socket = connected
      return
    }
  }

  /// Unwraps a share that was wrapped for this user's sessions on this device.
  ///
  /// - Throws: ``DeviceKeyError/otherDevice`` for any other bytes.
  public borrowing func unwrap(
    _ wrapped: [UInt8], context: [UInt8], until deadline: Int
  ) throws(DeviceKeyError) -> Key {
    guard wrapped.count == DevicePacket.wrappedSize, context.count <= DevicePacket.contextLimit else {
      throw .otherDevice
    }
    let packet = try ServiceDeviceKey.packet { () throws(SodiumError) in
      try DevicePacket.unwrap(wrapped, .session, context: context)
    }
    guard let answer = try ServiceDeviceKey.ask(packet, on: socket, until: Deadline(deadline)) else {
      throw .unavailable(.device(.ended))
    }
    do throws(SodiumError) { return try Key(answer) } catch {
      throw error == .outOfMemory ? .unavailable(.device(.noMemory)) : ServiceDeviceKey.strange
    }
  }
}
