import LatchkeyBackupControl
import LatchkeyHistoryControl
import LatchkeyLogControl
import LatchkeySodium

@testable import LatchkeyControl

/// Reads packets as the daemon does.
enum Reading {
  /// All messages that are not sealed.
  static let messages: [any ControlMessage.Type] = [
    Hello.self, GetStatus.self, LockVault.self, ShowPrompt.self, EndPrompt.self, GetDerivation.self, OpenPrompt.self,
    RemovePassphrase.self, BeginBackup.self, BeginRestore.self, TakeChunk.self, GiveChunk.self, FinishArchive.self,
    CheckMayRotate.self, CheckMayDerive.self, GetNeededEpoch.self, DeviceSecretRequest.self, DestroyPasscodeItems.self,
    GetAccessLog.self,
    ClearAccessLog.self, NoteOtherPassword.self, PutVaultAside.self, TakePassphrase.self, NoteSlowPassword.self,
    MakeOneTimeKey.self, ListGenerations.self, MakeGeneration.self, CompareGeneration.self,
    RestoreFromGeneration.self, GoThroughGeneration.self, GetComparison.self, FinishRestore.self,
    FindInGenerations.self, GetFoundItems.self, ForgetEverywhere.self, GetForgetting.self, DeleteCollection.self,
  ]

  /// The message of an unsealed packet; nil if the packet is of another kind.
  static func message<Message: ControlMessage>(_ packet: [UInt8], _: Message.Type = Message.self) -> Message? {
    guard let memory = try? SecureBytes(copying: packet.span.bytes),
      let arrived = ArrivedPacket(memory, size: packet.count)
    else { return nil }
    return arrived.message(Message.self)
  }

  /// Whether an unsealed packet is a message.
  static func isMessage(_ packet: [UInt8]) -> Bool {
    messages.contains { isMessage(packet, $0) } || hasKeys(packet)
  }

  /// Whether the packet is an unsealed message.
  static func isMessage(_ packet: borrowing ArrivedPacket) -> Bool {
    for one in messages where reads(packet, one) { return true }
    return false
  }

  private static func reads<Message: ControlMessage>(_ packet: borrowing ArrivedPacket, _: Message.Type) -> Bool {
    packet.message(Message.self) != nil
  }

  private static func isMessage<Message: ControlMessage>(_ packet: [UInt8], _: Message.Type) -> Bool {
    message(packet, Message.self) != nil
  }

  /// Whether the daemon reads keys from an unsealed packet.
  private static func hasKeys(_ packet: [UInt8]) -> Bool {
    hasKeys(packet, UnlockWithTiers.self) || hasKeys(packet, Rotate.self) || hasKeys(packet, SessionDelivery.self)
      || hasKeys(packet, PassphraseKey.self)
  }

  private static func hasKeys<Message: KeyMessage & ~Copyable>(_ packet: [UInt8], _: Message.Type) -> Bool {
    guard let memory = try? SecureBytes(copying: packet.span.bytes),
      var arrived = ArrivedPacket(memory, size: packet.count)
    else { return false }
    switch arrived.keys(Message.self) {
    case .some: return true
    case .none: return false
    }
  }

  /// The message in a sealed packet, read with `key`.
  static func keys<Message: KeyMessage & ~Copyable>(
    _ packet: [UInt8], _: Message.Type, sealedTo key: consuming OneTimeKey
  ) throws -> Message? {
    guard var arrived = ArrivedPacket(try SecureBytes(copying: packet.span.bytes), size: packet.count, sealedTo: key)
    else { return nil }
    return arrived.keys(Message.self)
  }
}

extension ControlMessage {
  /// The answer in a packet; nil if the packet is no such answer.
  static func read(_ packet: [UInt8]) -> Answer? {
    do throws(ControlError) { return try answer(in: packet) } catch { return nil }
  }
}

struct Unread: Error {}
