import LatchkeyBytes
import LatchkeySodium

/// A key pair for one packet that carries a secret. The receiver of the secret makes the pair and sends the public half. The sender
/// encrypts the packet to this half. The kernel frees socket buffers without clearing them, so they must not hold a usable secret.
///
/// The secret half is in locked memory. It is erased with this value, when the packet has been opened or is no longer expected.
public struct OneTimeKey: ~Copyable {
  private let secret: Key
  /// The key to which the other end seals its packet: 32 bytes.
  let publicKey: [UInt8]

  init() throws(SodiumError) { self.init(secret: try Key.random()) }

  init(secret: consuming Key) {
    publicKey = SealedBox.publicKey(of: secret)
    self.secret = secret
  }

  /// Decrypts a packet. The result is the whole packet that was given to ``seal(_:to:)``, with version and operation.
  ///
  /// - Throws: ``SodiumError/decryptionFailed``, even if it was sealed as a packet of another operation.
  consuming func open(_ sealed: RawSpan) throws(SodiumError) -> SecureBytes {
    guard sealed.byteCount > ControlPacket.headSize else { throw .decryptionFailed }
    let packet = try SealedBox.open(sealed.extracting(droppingFirst: ControlPacket.headSize), secret: secret)
    guard OneTimeKey.hasHead(of: sealed, packet) else { throw .decryptionFailed }
    return packet
  }

  private static func hasHead(of sealed: RawSpan, _ packet: borrowing SecureBytes) -> Bool {
    let head = sealed.extracting(first: ControlPacket.headSize)
    return packet.count >= head.byteCount && Sodium.equal(packet.bytes.extracting(first: head.byteCount), head)
  }

  /// The packet in the form that crosses the socket: version and operation, and after them the whole packet, encrypted. The
  /// encrypted part has version and operation too, so that nobody can pass a packet off as a packet of another operation.
  static func seal(_ packet: borrowing SecureBytes, to publicKey: [UInt8]) throws(SodiumError) -> [UInt8] {
    let head = packet.bytes.extracting(first: ControlPacket.headSize).octets
    return head + (try SealedBox.seal(packet.bytes, to: publicKey))
  }
}

/// Asks for a public key. The next packet has keys, and is encrypted to this public key.
package struct MakeOneTimeKey: FieldlessMessage {
  package typealias Answer = OneTimePublicKey
  package static let operation: UInt8 = 33
  package init() {}
}

/// The public half of a ``OneTimeKey``.
package struct OneTimePublicKey: ControlFields, Equatable, Sendable {
  /// The key, 32 bytes.
  package let bytes: [UInt8]

  init(bytes: [UInt8]) { self.bytes = bytes }

  package init?(decoding input: inout ByteReader) {
    guard input.remaining == SealedBox.publicKeySize, let bytes = try? input.take(SealedBox.publicKeySize) else {
      return nil
    }
    self.bytes = bytes
  }

  package func encode(into out: inout ByteWriter) { out.put(bytes) }
}
