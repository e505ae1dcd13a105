import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// A connection to the device key service that root opened for a login of a user. From then on it returns the secret of that
/// user's session protector to any holder, and nothing else.
///
/// So a process can say whose login it is while it is root, and read the user's files when it is no longer root.
public struct LoginConnection: ~Copyable {
  private let socket: LocalSocket

  /// Connects to the service at `path`.
  ///
  /// - Parameter deadline: until when an answer is waited for, as `Process.now` tells the time.
  /// - Throws: ``DeviceKeyError/unavailable(_:)``, also for anybody but root.
  public init(of user: uid_t, at path: String, until deadline: Int) throws(DeviceKeyError) {
    let packet = try ServiceDeviceKey.packet { () throws(SodiumError) in try DevicePacket.session(of: user) }
    while true {
      let connected = try ServiceDeviceKey.connect(to: path, until: Deadline(deadline))
      guard let answer = try ServiceDeviceKey.ask(packet, on: connected, until: Deadline(deadline)) else {
        // There were too many connections. There may be a place in a moment.
        usleep(10_000)
        continue
      }
      guard answer.count == 0 else { throw ServiceDeviceKey.strange }
      socket = connected
      return
    }
  }

  /// Unwraps a share that was wrapped for that user's sessions on this device.
  ///
  /// - Throws: ``DeviceKeyError/otherDevice`` for anything else.
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
