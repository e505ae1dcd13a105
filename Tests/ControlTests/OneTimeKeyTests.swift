import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyControl

/// Packets with secrets, as they cross the control socket.
@Suite struct OneTimeKeyTests {
  init() throws { try Sodium.initialize() }

  private static let packet: [UInt8] = [2, 8, 7, 0, 0, 0, 0, 0, 0, 0] + Array(64..<96)

  private func secure(_ bytes: [UInt8]) throws -> SecureBytes { try SecureBytes(copying: bytes.span.bytes) }

  private func sealed(_ packet: [UInt8] = packet, to publicKey: [UInt8]) throws -> [UInt8] {
    let packet = try secure(packet)
    return try OneTimeKey.seal(packet, to: publicKey)
  }

  /// The prompt's number that the daemon reads in a packet; nil if the packet is malformed.
  private func read(_ packet: [UInt8], with key: consuming OneTimeKey) -> UInt64? {
    do {
      guard let read = try Reading.keys(packet, PassphraseKey.self, sealedTo: key) else { return nil }
      return read.prompt
    } catch { return nil }
  }

  private func key(_ first: UInt8 = 1) throws -> OneTimeKey {
    OneTimeKey(secret: try Key(copying: Array(first..<first + 32).span.bytes))
  }

  /// PyNaCl made these bytes: `SealedBox(PrivateKey(bytes(range(1, 33))).public_key).encrypt(packet)` behind the packet's first two
  /// bytes.
  private static let vector = hex(
    "0208f81c288c9d3efe263b16431061c54aca85b47cbe961c95933b4f1ddfc3ab1923dd8389e1d393b5015aa16e8eca42"
      + "33a493e5b92ec9d1746cbfb64019ae477067ebcb627927f474fa3fbfa86e5239458f88c27ee573bdccdca6d0")

  private static func hex(_ text: String) -> [UInt8] {
    let digits = Array(text.utf8).map { UInt8($0 > 57 ? $0 - 87 : $0 - 48) }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  @Test func anotherImplementationsPacketIsRead() throws {
    let key = try key()
    #expect(key.publicKey == OneTimeKeyTests.hex("07a37cbc142093c8b755dc1b10e86cb426374ad16aa853ed0bdfc0b2b86d1c7c"))
    let opened = try key.open(OneTimeKeyTests.vector.span.bytes)
    #expect(opened.bytes.withUnsafeBytes { Array($0) } == OneTimeKeyTests.packet)
    #expect(read(OneTimeKeyTests.vector, with: try self.key()) == 7)
  }

  @Test func thePacketIsNotInWhatIsSent() throws {
    let sealed = try sealed(to: try key().publicKey)
    #expect(sealed.count == 2 + OneTimeKeyTests.packet.count + 48 && sealed.prefix(2) == [2, 8])
    let run = OneTimeKeyTests.packet[10..<14]
    #expect(!sealed.indices.contains { sealed[$0...].starts(with: run) })
    #expect(try self.sealed(to: try key().publicKey) != sealed)
    #expect(read(sealed, with: try key()) == 7)
  }

  @Test func whatIsAlteredOrForAnotherKeyIsMalformed() throws {
    let sealed = try sealed(to: try key().publicKey)
    #expect(read(sealed, with: try key(2)) == nil)
    for place in sealed.indices {
      var altered = sealed
      altered[place] ^= 1
      #expect(read(altered, with: try key()) == nil, "byte \(place)")
    }
    for count in sealed.indices { #expect(read(Array(sealed.prefix(count)), with: try key()) == nil) }
    #expect(read(sealed + [0], with: try key()) == nil)
    #expect(read(OneTimeKeyTests.packet, with: try key()) == nil, "in the clear")
    #expect(!Reading.isMessage(sealed))
  }

  @Test func onlyAWholePacketOfItsOperationIsRead() throws {
    let fields = Array(OneTimeKeyTests.packet.dropFirst(2))
    for packet: [UInt8] in [[2, 8], [2, 8, 7], [2, 3], [2, 2] + fields, [1, 8] + fields, [1], []] {
      let box = try SealedBox.seal(packet.span.bytes, to: try key().publicKey)
      #expect(read([2, 8] + box, with: try key()) == nil)
      let clear = [2, 3] + box
      let arrived = ArrivedPacket(try secure(clear), size: clear.count, sealedTo: try key())
      guard let other = arrived else { throw Unread() }
      let isStatus = other.message(GetStatus.self) != nil
      #expect(!isStatus)
    }
  }

  @Test func whatCarriesNoKeyIsReadAsItIs() throws {
    let memory = try secure([2, 3])
    guard let packet = ArrivedPacket(memory, size: 2, sealedTo: try key()) else { throw Unread() }
    let status = packet.message(GetStatus.self)
    #expect(status != nil)
  }

  @Test func keysInTheClearAreMalformed() {
    for operation: UInt8 in [2, 8, 21, 30] {
      for count in [32, 40, 52, 89] {
        let packet = [2, operation] + [UInt8](repeating: 7, count: count)
        #expect(!Reading.isMessage(packet))
      }
    }
  }
}
