import LatchkeySodium

/// The meaning of a packet of another version, as far as this version understands it. The numbers of these messages stay the same
/// in every version.
package enum OtherVersionMessage: Equatable, Sendable {
  /// A helper begins: ``Hello``.
  case hello
  /// A program wants to show a prompt: ``ShowPrompt``.
  case prompt
  /// A helper has opened the keybag, and asks this daemon to end: ``ControlPacket/giveWay``.
  case giveWay
  /// Anything else.
  case other

  init(operation: UInt8) {
    switch operation {
    case Hello.operation: self = .hello
    case ShowPrompt.operation: self = .prompt
    case ControlPacket.giveWay: self = .giveWay
    default: self = .other
    }
  }

  /// nil for a packet of this version, and for a packet that is too short to have a version.
  init?(_ packet: borrowing SecureBytes, size: Int) {
    guard size >= ControlPacket.headSize,
      packet.bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self) != ControlPacket.version
    else { return nil }
    self.init(operation: packet.bytes.unsafeLoad(fromByteOffset: 1, as: UInt8.self))
  }
}
