import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// A request that the service answers as soon as it has started and opened its secret. The request has no other effect. A program
/// waits for the answer in its event loop. After the answer it knows that other requests will be quick, and sends them.
public struct ServiceProbe: ~Copyable {
  private let socket: LocalSocket

  /// Sends the request to the service at `path`. Does not wait.
  ///
  /// - Throws: ``PosixError`` with `EAGAIN` if too many connections wait for the service.
  public init(at path: String) throws(PosixError) {
    let connected = try LocalSocket.connect(to: path)
    // No share has this context, so the service only refuses the request.
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

  /// Whether the service answered; false if it closed the connection.
  public borrowing func isAnswered() -> Bool { ((try? socket.pendingSize()) ?? 0) > 0 }
}
