import Glibc
import LatchkeyBytes
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// The daemon's end of one connection. Packets are taken into locked memory; those that carry keys are
/// sealed to a key that is made for each.
public struct ControlConnection: ~Copyable {
  private let socket: LocalSocket
  /// Who connected.
  public let peer: LocalSocket.Peer
  /// What the next packet is sealed to, where the peer asked for that.
  private var oneTimeKey: OneTimeKey?

  /// Takes over an accepted connection; nil when the kernel does not say who it is.
  public init?(_ socket: consuming LocalSocket) {
    guard let peer = try? socket.peer() else { return nil }
    self.socket = socket
    self.peer = peer
    oneTimeKey = nil
  }

  /// The descriptor's number, for an event loop.
  public var number: Int32 { socket.number }

  /// Says that nothing more will be said. What the peer still says can be read, until it ends.
  public borrowing func finish() { shutdown(socket.number, Int32(SHUT_WR)) }

  /// What came next.
  public enum Arrival: ~Copyable {
    /// Nothing yet.
    case nothing
    /// A packet.
    case request(ControlRequest)
    /// The peer is gone, or sent what no peer sends.
    case ended
  }

  /// Takes the next packet.
  public mutating func receive() -> Arrival {
    do {
      guard let size = try socket.pendingSize() else { return .nothing }
      // What does not fit ends the connection.
      var buffer = try SecureBytes(count: min(size, ControlPacket.sizeLimit))
      let count = try buffer.withUnsafeMutableBytes { memory throws(PosixError) in try socket.receive(into: memory) }
      guard let count else { return .nothing }
      guard count > 0 else { return .ended }
      let packet = buffer.bytes.extracting(first: count)
      // For this packet alone, whatever it is.
      guard let key = oneTimeKey.take() else { return .request(ControlConnection.decode(packet)) }
      return .request(ControlConnection.decode(packet, sealedTo: key))
    } catch { return .ended }
  }

  /// A public key for the next packet.
  ///
  /// - Throws: ``SodiumError/outOfMemory``.
  public mutating func makeOneTimeKey() throws(SodiumError) -> [UInt8] {
    let key = try OneTimeKey()
    let publicKey = key.publicKey
    oneTimeKey = consume key
    return publicKey
  }

  private static func operation(of packet: RawSpan) -> ControlPacket.Operation? {
    guard packet.byteCount >= ControlPacket.headSize,
      packet.unsafeLoad(fromByteOffset: 0, as: UInt8.self) == ControlPacket.version
    else { return nil }
    return ControlPacket.Operation(rawValue: packet.unsafeLoad(fromByteOffset: 1, as: UInt8.self))
  }

  static func decode(_ packet: RawSpan, sealedTo key: consuming OneTimeKey) -> ControlRequest {
    guard operation(of: packet)?.carriesKeys ?? false, packet.byteCount <= ControlPacket.requestLimit else {
      return decode(packet)
    }
    do throws(SodiumError) {
      let opened = try key.open(packet)
      return decode(opened: opened.bytes)
    } catch { return .malformed }
  }

  /// A packet in the clear: nobody sends keys so.
  static func decode(_ packet: RawSpan) -> ControlRequest {
    guard let operation = operation(of: packet),
      packet.byteCount <= ControlPacket.requestLimit || operation == .giveChunk
    else { return .malformed }
    switch operation {
    case .giveChunk:
      return .giveChunk(packet.extracting(droppingFirst: ControlPacket.headSize).withUnsafeBytes { Array($0) })
    default:
      var input = ByteReader(packet.extracting(droppingFirst: ControlPacket.headSize).withUnsafeBytes { Array($0) })
      let request = plainRequest(operation, &input)
      return input.remaining == 0 ? request : .malformed
    }
  }

  /// What was in a sealed packet.
  static func decode(opened packet: RawSpan) -> ControlRequest {
    guard let operation = operation(of: packet) else { return .malformed }
    let fields = packet.extracting(droppingFirst: ControlPacket.headSize)
    switch operation {
    case .unlock:
      guard let delivery = TierDelivery(decoding: fields) else { return .malformed }
      return .unlock(delivery)
    case .rotate:
      guard let delivery = TierDelivery(decoding: fields) else { return .malformed }
      return .rotate(delivery)
    case .unlockSession:
      guard let delivery = SessionDelivery(decoding: fields) else { return .malformed }
      return .unlockSession(delivery)
    case .passphrase:
      guard let key = PassphraseKey(decoding: fields) else { return .malformed }
      return .passphrase(key)
    default: return .malformed
    }
  }

  /// What carries no key.
  private static func plainRequest(
    _ operation: ControlPacket.Operation, _ input: inout ByteReader
  ) -> ControlRequest {
    switch operation {
    case .hello:
      guard let hello = Hello(decoding: &input) else { return .malformed }
      return .hello(hello)
    case .status: return .status
    case .lock: return .lock
    case .prompt:
      guard let number = try? input.number(UInt64.self) else { return .malformed }
      return .prompt(number)
    case .promptEnded:
      guard let raw = try? input.number(UInt8.self), let end = PromptEnd(packetCode: raw) else {
        return .malformed
      }
      return .promptEnded(end)
    case .takePassphrase:
      guard let key = try? input.take(SealedBox.publicKeySize) else { return .malformed }
      return .takePassphrase(publicKey: key)
    case .oneTimeKey: return .oneTimeKey
    case .derivation:
      guard let number = try? input.number(UInt64.self) else { return .malformed }
      return .derivation(prompt: number)
    case .openPrompt:
      guard let raw = try? input.number(UInt8.self), let purpose = PromptRequest.Purpose(rawValue: raw),
        let name = input.text(limit: PromptRequest.textLimit)
      else { return .malformed }
      return .openPrompt(purpose, collection: name)
    case .removePassphrase:
      guard let name = input.text(limit: PromptRequest.textLimit) else { return .malformed }
      return .removePassphrase(collection: name)
    case .mayRotate: return .mayRotate
    case .mayDerive: return .mayDerive
    case .neededEpoch: return .neededEpoch
    case .deviceSecret:
      guard let request = DeviceSecretRequest(decoding: &input) else { return .malformed }
      return .deviceSecret(request)
    case .destroyPasscodeItems:
      guard let removed = try? input.number(UInt8.self), removed <= 1 else { return .malformed }
      return .destroyPasscodeItems(passwordRemoved: removed == 1)
    case .beginBackup: return .beginBackup
    case .beginRestore:
      guard let request = RestoreRequest(decoding: &input) else { return .malformed }
      return .beginRestore(request)
    case .takeChunk: return .takeChunk
    case .accessLog:
      guard let number = try? input.number(UInt64.self) else { return .malformed }
      return .accessLog(below: number)
    case .clearAccessLog: return .clearAccessLog
    case .noteOtherPassword: return .noteOtherPassword
    case .noteSlowPassword:
      guard let time = try? input.number(UInt32.self) else { return .malformed }
      return .noteSlowPassword(milliseconds: time)
    case .startEmpty:
      guard let folder = input.text(limit: ControlPacket.pathLimit) else { return .malformed }
      return .startEmpty(folder: folder)
    case .archiveReport:
      guard let line = try? input.number(UInt64.self) else { return .malformed }
      return .archiveReport(after: line)
    case .unlock, .unlockSession, .rotate, .passphrase, .giveChunk: return .malformed
    }
  }

  /// Answers. A peer that does not read is not waited for.
  public borrowing func send(_ reply: ControlReply) throws(PosixError) {
    try socket.send(reply.encoded.span.bytes)
  }

  /// Answers with a secret, sealed to the public key of the request.
  public borrowing func send(_ passphrase: GivenPassphrase, sealedTo publicKey: [UInt8]) throws {
    let packet = try OneTimeKey.seal(try passphrase.encoded(), to: publicKey)
    try socket.send(packet.span.bytes)
  }
}
