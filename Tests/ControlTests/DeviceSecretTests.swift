import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyControl

/// The secret of a vault without a password on its way from the daemon to the helper, and the end of the items that depend on a
/// password.
@Suite struct DeviceSecretTests {
  private let vault = [UInt8](1...16)
  private let protector = [UInt8](17...32)

  init() throws { try Sodium.initialize() }

  private func request(_ wanted: DeviceSecretRequest.Wanted, publicKey: [UInt8]) -> [UInt8] {
    DeviceSecretRequest(wanted, publicKey: publicKey).packet
  }

  /// The message that the daemon reads; nil if it is malformed.
  private func read(_ packet: [UInt8]) -> DeviceSecretRequest? { Reading.message(packet) }

  /// The removal that the daemon reads; nil if it is malformed.
  private func removal(_ packet: [UInt8]) -> Bool? {
    Reading.message(packet, DestroyPasscodeItems.self)?.passwordRemoved
  }

  private func isMalformed(_ packet: [UInt8]) -> Bool { !Reading.isMessage(packet) }

  private func secret(_ byte: UInt8) throws -> DeviceSecret {
    let wrapping = try #require(
      DeviceSecret.Wrapping(identity: [UInt8](33...48), wrapped: [UInt8](repeating: 0xDD, count: 72)))
    return DeviceSecret(
      protector: protector, wrapping: wrapping,
      key: try Key(copying: [UInt8](repeating: byte, count: 32).span.bytes))
  }

  /// The content if the secret is sealed to this key; nil otherwise.
  private func content(_ sealed: SealedDeviceSecret, _ mine: borrowing Key) -> [UInt8]? {
    do {
      let key = try sealed.open(with: mine)
      return key.bytes.withUnsafeBytes { Array($0) }
    } catch { return nil }
  }

  private func seal(_ byte: UInt8, to publicKey: [UInt8]) throws -> SealedDeviceSecret {
    let secret = try secret(byte)
    return try SealedDeviceSecret(secret, to: publicKey)
  }

  @Test func requestsArriveAsTheyWereSent() {
    let publicKey = [UInt8](repeating: 0xAB, count: 32)
    for wanted in [DeviceSecretRequest.Wanted.present, .new(vault: vault, protector: protector)] {
      let packet = request(wanted, publicKey: publicKey)
      #expect(packet.count == 67 && packet.prefix(2) == [2, 24])
      #expect(read(packet) == DeviceSecretRequest(wanted, publicKey: publicKey))
    }
    let fields = Array(request(.new(vault: vault, protector: protector), publicKey: publicKey).dropFirst(3))
    #expect(fields == vault + protector + publicKey)
  }

  @Test func requestsOfAnotherSizeOrKindAreMalformed() {
    for wanted in [DeviceSecretRequest.Wanted.present, .new(vault: vault, protector: protector)] {
      let packet = request(wanted, publicKey: [UInt8](repeating: 7, count: 32))
      for count in 2..<packet.count { #expect(isMalformed(Array(packet.prefix(count))), "\(count) bytes") }
      #expect(isMalformed(packet + [0]))
      for kind in 2...UInt8.max {
        var other = packet
        other[2] = kind
        #expect(isMalformed(other), "kind \(kind)")
      }
    }
    // A request for the present protector must not name another protector.
    for place in 3..<35 {
      var named = request(.present, publicKey: [UInt8](repeating: 7, count: 32))
      named[place] = 1
      #expect(isMalformed(named), "byte \(place)")
    }
  }

  @Test func aRemovalSaysYesOrNo() {
    #expect(removal([2, 25, 0]) == false && removal([2, 25, 1]) == true)
    for byte in 2...UInt8.max { #expect(isMalformed([2, 25, byte])) }
    for packet in [[2, 25], [2, 25, 0, 0], [2, 25, 1, 0]] as [[UInt8]] { #expect(isMalformed(packet)) }
  }

  @Test func secretsSurviveTheWayAndOpenForWhoAsked() throws {
    let mine = try Key.random()
    let sealed = try seal(5, to: SealedBox.publicKey(of: mine))
    let packet = DeviceSecretRequest.packet(answering: sealed)
    #expect(packet.count == 2 + 16 + 72 + 80 && DeviceSecretRequest.read(packet) == sealed)
    #expect(Array(packet[2..<90]) == sealed.wrapping.identity + sealed.wrapping.wrapped)
    let arrived = try #require(DeviceSecretRequest.read(packet))
    #expect(content(arrived, mine) == [UInt8](repeating: 5, count: 32))
    for count in 0..<packet.count { #expect(DeviceSecretRequest.read(Array(packet.prefix(count))) == nil) }
    // The secret is never in the clear, and two boxes with the same secret differ.
    let run = [UInt8](repeating: 5, count: 4)
    #expect(!packet.indices.contains { packet[$0...].starts(with: run) })
    #expect(try seal(5, to: SealedBox.publicKey(of: mine)).box != sealed.box)
  }

  @Test func nobodyElseOpensThemAndNoneThatWasAltered() throws {
    let mine = try Key.random()
    let sealed = try seal(5, to: SealedBox.publicKey(of: mine))
    #expect(content(sealed, try Key.random()) == nil && content(sealed, mine) != nil)
    let packet = DeviceSecretRequest.packet(answering: sealed)
    for place in 90..<packet.count {
      var altered = packet
      altered[place] ^= 1
      let arrived = try #require(DeviceSecretRequest.read(altered))
      #expect(content(arrived, mine) == nil, "byte \(place)")
    }
  }

  @Test func nothingIsSealedToAKeyThatIsNone() throws {
    let zero = [UInt8](repeating: 0, count: 32)
    let one = [1] + zero.dropFirst()
    for publicKey in [zero, one, [], Array(repeating: 7, count: 31)] {
      #expect(throws: SodiumError.badArgument) { _ = try seal(5, to: publicKey) }
    }
  }
}
