import LatchkeyBytes
import LatchkeySodium

/// Asks for the passphrase that a program gave for this connection's prompt, encrypted to a public key.
package struct TakePassphrase: ControlMessage {
  package typealias Answer = SealedPassphrase
  package static let operation: UInt8 = 31
  /// The public key, 32 bytes.
  package let publicKey: [UInt8]

  init(publicKey: [UInt8]) { self.publicKey = publicKey }

  package init?(decoding input: inout ByteReader) {
    guard let key = try? input.take(SealedBox.publicKeySize) else { return nil }
    publicKey = key
  }

  package func encode(into out: inout ByteWriter) { out.put(publicKey) }
}

/// A passphrase for the program that asked for it.
package struct SealedPassphrase: ControlFields {
  /// The whole unencrypted packet, sealed to the public key.
  private let box: [UInt8]

  private static var head: [UInt8] { ControlPacket.begin(TakePassphrase.operation).bytes }

  /// Seals a passphrase.
  ///
  /// - Throws: ``SodiumError/badArgument`` for an invalid public key.
  package init(_ passphrase: GivenPassphrase, to publicKey: [UInt8]) throws(SodiumError) {
    let head = SealedPassphrase.head
    var packet = try SecureBytes(count: head.count + passphrase.bytes.count)
    packet.write(head.span.bytes, at: 0)
    packet.write(0..<passphrase.bytes.count, of: passphrase.bytes, at: head.count)
    box = Array(try OneTimeKey.seal(packet, to: publicKey).dropFirst(head.count))
  }

  /// Decrypts the passphrase; nil for bytes that nobody could type.
  func open(with key: consuming OneTimeKey) throws(SodiumError) -> GivenPassphrase? {
    let sealed = SealedPassphrase.head + box
    let packet = try key.open(sealed.span.bytes)
    return try GivenPassphrase(copying: packet.bytes.extracting(droppingFirst: ControlPacket.headSize))
  }

  package init?(decoding input: inout ByteReader) {
    guard let box = try? input.take(input.remaining) else { return nil }
    self.box = box
  }

  package func encode(into out: inout ByteWriter) { out.put(box) }
}

extension ControlClient {
  /// Asks for the passphrase that a program gave for the prompt of this connection.
  package borrowing func takePassphrase(until deadline: Int) throws(ControlError) -> GivenPassphrase {
    let key = try ControlClient.sodium { () throws(SodiumError) in try OneTimeKey() }
    let sealed = try ask(TakePassphrase(publicKey: key.publicKey), until: deadline)
    let opened: GivenPassphrase?
    do throws(SodiumError) { opened = try sealed.open(with: key) } catch { throw .broken }
    guard let opened else { throw .broken }
    return opened
  }
}
