import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// A request that the service answers as soon as it has started and opened its secret. The request has no other effect. A
/// program with an event loop waits there for the answer, and sends other requests once they are known to be quick.
public struct ServiceProbe: ~Copyable {
  private let socket: LocalSocket

  /// Sends the request to the service at `path`. Waits for nothing.
  ///
  /// - Throws: ``PosixError`` with `EAGAIN` if too many others wait to be let in.
  public init(at path: String) throws(PosixError) {
    let connected = try LocalSocket.connect(to: path)
    // No share was ever wrapped with this context, and the service makes nothing for it.
    let nothing = [UInt8](repeating: 0, count: DevicePacket.wrappedSize)
    let packet: SecureBytes
    do throws(SodiumError) { packet = try DevicePacket.unwrap(nothing, .bound, context: []) } catch {
      throw PosixError("send", code: ENOMEM)
    }
    try connected.send(packet.bytes)
    socket = connected
  }

  /// The socket, for an event loop.
  public var number: Int32 { socket.number }

  /// Whether the service answered; false if it dropped the connection.
  public borrowing func isAnswered() -> Bool { ((try? socket.pendingSize()) ?? 0) > 0 }
}
