import LatchkeyBytes
import LatchkeySodium

/// A key pair for one packet that carries a secret. The receiver of the secret makes it and sends the public half. The sender seals
/// the packet to that half. So the kernel's socket buffers, which it frees without clearing them, hold no usable secret.
///
/// The secret half lies in locked memory and is erased with this value, once the packet was opened or is no longer expected.
public struct OneTimeKey: ~Copyable {
  private let secret: Key
  /// The key to which the other end seals its packet: 32 bytes.
  let publicKey: [UInt8]

  init() throws(SodiumError) { self.init(secret: try Key.random()) }

  init(secret: consuming Key) {
    publicKey = SealedBox.publicKey(of: secret)
    self.secret = secret
  }

  /// The whole packet in the clear, with version and operation, as it was given to ``seal(_:to:)``.
  ///
  /// - Throws: ``SodiumError/decryptionFailed``, also if it was sealed as a packet of another operation.
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

  /// The packet as it crosses the socket: version and operation, then the whole packet sealed. The head is inside as well, so
  /// that a packet of one operation cannot be passed off as one of another.
  static func seal(_ packet: borrowing SecureBytes, to publicKey: [UInt8]) throws(SodiumError) -> [UInt8] {
    let head = packet.bytes.extracting(first: ControlPacket.headSize).withUnsafeBytes { Array($0) }
    return head + (try SealedBox.seal(packet.bytes, to: publicKey))
  }
}

/// Asks for a public key that the next packet is sealed to: it carries keys.
package struct MakeOneTimeKey: FieldlessMessage {
  package typealias Answer = OneTimePublicKey
  package static let operation: UInt8 = 33
  package init() {}
}

/// The public half of a ``OneTimeKey``.
package struct OneTimePublicKey: ControlFields, Equatable, Sendable {
  /// 32 bytes.
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
