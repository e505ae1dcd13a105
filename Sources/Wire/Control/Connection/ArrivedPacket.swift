import LatchkeyBytes
import LatchkeySodium

/// A packet that the daemon received, in locked memory. The handler of its operation reads it.
package struct ArrivedPacket: ~Copyable {
  /// The number of its message.
  package let operation: UInt8
  private let memory: SecureBytes
  private let size: Int
  /// The key to which it was sealed, if its sender asked for a key. The key is for this packet only.
  private var key: OneTimeKey?

  /// Takes over the first `size` bytes of `memory`; nil for a packet of another version.
  init?(_ memory: consuming SecureBytes, size: Int, sealedTo key: consuming OneTimeKey? = nil) {
    guard let operation = ArrivedPacket.operation(of: memory, size) else { return nil }
    self.operation = operation
    self.memory = memory
    self.size = size
    self.key = key
  }

  private static func operation(of memory: borrowing SecureBytes, _ size: Int) -> UInt8? {
    guard size >= ControlPacket.headSize,
      memory.bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self) == ControlPacket.version
    else { return nil }
    return memory.bytes.unsafeLoad(fromByteOffset: 1, as: UInt8.self)
  }

  /// The unencrypted message; nil if the packet has another message, or has more bytes than its fields.
  package borrowing func message<Message: ControlMessage>(_: Message.Type = Message.self) -> Message? {
    guard operation == Message.operation, size <= Message.sizeLimit else { return nil }
    let fields = memory.bytes.extracting(ControlPacket.headSize..<size)
    var input = ByteReader(fields.octets)
    guard let message = Message(decoding: &input), input.remaining == 0 else { return nil }
    return message
  }

  /// The keys in the packet; nil if it has no keys of this kind, or if they are not encrypted, which no sender does.
  package mutating func keys<Message: KeyMessage & ~Copyable>(_: Message.Type) -> Message? {
    guard operation == Message.operation, size <= ControlPacket.messageLimit else { return nil }
    do throws(SodiumError) {
      guard let opened = try opened() else { return nil }
      return Message(decoding: opened.bytes.extracting(droppingFirst: ControlPacket.headSize))
    } catch { return nil }
  }

  private mutating func opened() throws(SodiumError) -> SecureBytes? {
    guard let key = key.take() else { return nil }
    return try key.open(memory.bytes.extracting(first: size))
  }
}
