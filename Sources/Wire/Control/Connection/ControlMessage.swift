import LatchkeyBytes
import LatchkeyReasons

/// One request of a peer to the daemon over the control socket. Its type has everything about it: its number, its fields and its
/// answer. The client sends it by ``ControlClient/ask(_:until:)``, and the daemon registers it in one line.
package protocol ControlMessage: ControlFields, Sendable {
  /// The daemon's answer, unless it declines.
  associatedtype Answer: ControlFields
  /// The message's number in a packet.
  static var operation: UInt8 { get }
  /// The number of the answer's packet.
  static var answerOperation: UInt8 { get }
  /// The size of the largest packet of this message, in bytes.
  static var sizeLimit: Int { get }
}

extension ControlMessage {
  package static var answerOperation: UInt8 { operation }
  package static var sizeLimit: Int { ControlPacket.messageLimit }

  /// The packet's bytes.
  package var packet: [UInt8] {
    var out = ControlPacket.begin(Self.operation)
    encode(into: &out)
    return out.bytes
  }

  /// The bytes of the packet that answers the message.
  package static func packet(answering answer: Answer) -> [UInt8] {
    var out = ControlPacket.begin(answerOperation)
    answer.encode(into: &out)
    return out.bytes
  }

  /// Reads an answer.
  ///
  /// - Throws: ``ControlError/declined(_:)``; ``ControlError/broken`` if the packet is not an answer of this version to the message.
  package static func answer(in packet: [UInt8]) throws(ControlError) -> Answer {
    try Answer(decodingAnswer: packet, of: answerOperation)
  }
}

/// A message without fields.
package protocol FieldlessMessage: ControlMessage {
  init()
}

extension FieldlessMessage {
  package init?(decoding input: inout ByteReader) { self.init() }
  package func encode(into out: inout ByteWriter) {}
}

extension ControlFields {
  init(decodingAnswer packet: [UInt8], of operation: UInt8) throws(ControlError) {
    var input = ByteReader(packet)
    guard (try? input.number(UInt8.self)) == ControlPacket.version, let found = try? input.number(UInt8.self) else {
      throw .broken
    }
    if found == ControlPacket.declined {
      guard let reason = Reason(decoding: &input) else { throw .broken }
      throw .declined(reason)
    }
    guard found == operation, let answer = Self(decoding: &input) else { throw .broken }
    self = answer
  }
}
