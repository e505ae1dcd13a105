import Glibc
import LatchkeyPosix
import LatchkeySodium

/// The daemon's end of one connection. It reads packets into locked memory. A packet with keys is encrypted to a key that was made
/// for this packet.
public struct ControlConnection: ~Copyable {
  private let socket: LocalSocket
  /// The process that connected.
  public let peer: LocalSocket.Peer
  /// The key to which the next packet is sealed, if the peer asked for one.
  private var oneTimeKey: OneTimeKey?

  /// Takes over an accepted connection; nil if the kernel does not tell the peer's user.
  public init?(_ socket: consuming LocalSocket) {
    guard let peer = try? socket.peer() else { return nil }
    self.socket = socket
    self.peer = peer
    oneTimeKey = nil
  }

  /// The descriptor's number, for an event loop.
  public var number: Int32 { socket.number }

  /// Ends the sending direction. The peer's packets can still be read, until the peer ends.
  public borrowing func finish() { shutdown(socket.number, Int32(SHUT_WR)) }

  /// Whether the peer has closed the connection, and no packet is unread.
  package var hasEnded: Bool { do { return try socket.pendingSize() == 0 } catch { return true } }

  /// The next arrival.
  package enum Arrival: ~Copyable {
    /// Nothing has come yet.
    case nothing
    /// A packet has come.
    case packet(ArrivedPacket)
    /// A packet of another version has come.
    case otherVersion(OtherVersionMessage)
    /// The bytes are not a packet.
    case malformed
    /// The peer has closed the connection, or has sent more bytes than a packet may have.
    case ended
  }

  /// Takes the next packet.
  package mutating func receive() -> Arrival {
    do {
      guard let size = try socket.pendingSize() else { return .nothing }
      // A packet that is too long ends the connection.
      var buffer = try SecureBytes(count: min(size, ControlPacket.sizeLimit))
      let count = try socket.receive(into: buffer.mutableBytes)
      guard let count else { return .nothing }
      guard count > 0 else { return .ended }
      if let message = OtherVersionMessage(buffer, size: count) { return .otherVersion(message) }
      guard let packet = ArrivedPacket(buffer, size: count, sealedTo: oneTimeKey.take()) else { return .malformed }
      return .packet(packet)
    } catch { return .ended }
  }

  /// Makes a key pair for the next packet, and returns the public key.
  ///
  /// - Throws: ``SodiumError/outOfMemory``.
  package mutating func makeOneTimeKey() throws(SodiumError) -> OneTimePublicKey {
    let key = try OneTimeKey()
    let publicKey = key.publicKey
    oneTimeKey = consume key
    return OneTimePublicKey(bytes: publicKey)
  }

  /// Sends an answer. This does not wait for a peer that does not read.
  ///
  /// - Parameter packet: ``ControlMessage/packet(answering:)``, or ``ControlPacket/declined(_:)``.
  public borrowing func send(_ packet: [UInt8]) throws(PosixError) { try socket.send(packet.span.bytes) }
}
