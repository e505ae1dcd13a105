import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyDeviceService

@Suite("Packets of the device service")
struct DevicePacketTests {
  init() throws { try Sodium.initialize() }

  private let context = [UInt8](repeating: 7, count: 16)

  private func octets(_ value: borrowing SecureBytes) -> [UInt8] { value.bytes.withUnsafeBytes { Array($0) } }
  private func octets(_ value: borrowing Key) -> [UInt8] { value.bytes.withUnsafeBytes { Array($0) } }

  private func isMalformed(_ packet: [UInt8]) -> Bool {
    let request = DeviceRequest(decoding: packet.span.bytes)
    if case .malformed = request { return true }
    return false
  }

  @Test("A decoded request equals the encoded one", arguments: [DeviceShareKind.bound, .erasable, .session])
  func requests(_ kind: DeviceShareKind) throws {
    let share = try Key.random()
    let wrapPacket = try DevicePacket.wrap(share, kind, context: context)
    switch DeviceRequest(decoding: wrapPacket.bytes) {
    case .wrap(let seen, let seenKind, let seenContext):
      #expect(octets(seen) == octets(share))
      #expect(seenKind == kind)
      #expect(seenContext == context)
    default: Issue.record("another request")
    }
    let wrapped = [UInt8](repeating: 9, count: DevicePacket.wrappedSize)
    let unwrapPacket = try DevicePacket.unwrap(wrapped, kind, context: [])
    switch DeviceRequest(decoding: unwrapPacket.bytes) {
    case .unwrap(let seen, let seenKind, let seenContext):
      #expect(seen == wrapped)
      #expect(seenKind == kind)
      #expect(seenContext == [])
    default: Issue.record("another request")
    }
  }

  @Test("Commands come out as they went in")
  func commands() throws {
    let erase = try DevicePacket.eraseErasable(of: 0x0102_0304)
    #expect(octets(erase) == [1, 4, 4, 3, 2, 1])
    if case .eraseErasable(let user) = DeviceRequest(decoding: erase.bytes) {
      #expect(user == 0x0102_0304)
    } else {
      Issue.record("another request")
    }
    let forget = try DevicePacket.forget(.max)
    if case .forget(let user) = DeviceRequest(decoding: forget.bytes) {
      #expect(user == .max)
    } else {
      Issue.record("another request")
    }
    let login = try DevicePacket.session(of: 0x0102_0304)
    #expect(octets(login) == [1, 8, 4, 3, 2, 1])
    if case .session(let user) = DeviceRequest(decoding: login.bytes) {
      #expect(user == 0x0102_0304)
    } else {
      Issue.record("another request")
    }
    let move = try DevicePacket.move(to: .tpm)
    #expect(octets(move) == [1, 5, 2])
    if case .move(let backend) = DeviceRequest(decoding: move.bytes) {
      #expect(backend == .tpm)
    } else {
      Issue.record("another request")
    }
    #expect(isMalformed(octets(try DevicePacket.move(to: .file))))
  }

  @Test("A note and its answer have the bytes of docs/developer/protocols.md", arguments: [false, true])
  func note(_ isBeginning: Bool) throws {
    let generations = VaultGenerations(keybag: 0x0807_0605_0403_0201, database: 9)
    let packet = try DevicePacket.note(generations, of: context, isBeginning: isBeginning)
    let numbers: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 0, 0]
    #expect(octets(packet) == [1, 7] + context + numbers + [isBeginning ? 1 : 0])
    if case .note(let seen, let vault, let seenBeginning) = DeviceRequest(decoding: packet.bytes) {
      #expect(seen == generations)
      #expect(vault == context)
      #expect(seenBeginning == isBeginning)
    } else {
      Issue.record("another request")
    }
    #expect(isMalformed(octets(packet).dropLast() + [2]))
    #expect(octets(try DeviceReply.noted(generations)) == [1, 0, 1] + numbers)
    #expect(octets(try DeviceReply.noted(nil)) == [1, 0, 0] + [UInt8](repeating: 0, count: 16))
  }

  private let pair = [UInt8](repeating: 3, count: 32)

  @Test("A hold and later packets about it have the bytes of docs/developer/finger.md", arguments: [false, true])
  func holds(_ isMemoryAllowed: Bool) throws {
    let key = try Key.random()
    let handed = try HandedKey(copying: key, publicKey: pair, isMemoryAllowed: isMemoryAllowed)
    let service = try Key.random()
    let packet = try DevicePacket.hold(handed, sealedTo: SealedBox.publicKey(of: service))
    #expect(octets(packet).prefix(2) == [1, 9])
    if case .hold(let sealed) = DeviceRequest(decoding: packet.bytes) {
      let plain = try SealedBox.open(sealed.span.bytes, secret: service)
      #expect(octets(plain) == [isMemoryAllowed ? 1 : 0] + octets(key) + pair)
      let opened = try HandedKey(opening: sealed, with: service)
      #expect(octets(opened.key) == octets(key))
      #expect(opened.publicKey == pair)
      #expect(opened.isMemoryAllowed == isMemoryAllowed)
      #expect(throws: SodiumError.decryptionFailed) { _ = try HandedKey(opening: sealed, with: key) }
    } else {
      Issue.record("another request")
    }
    let publicKey = SealedBox.publicKey(of: service)
    for wrong in [[2] + octets(key) + pair, [1] + octets(key) + pair.dropLast()] {
      let sealed = try SealedBox.seal(wrong.span.bytes, to: publicKey)
      #expect(throws: SodiumError.decryptionFailed) { _ = try HandedKey(opening: sealed, with: service) }
    }
    #expect(octets(try DevicePacket.makeKey()) == [1, 15])
    let made = try DeviceReply.made(publicKey)
    #expect(octets(made) == [1, 0] + publicKey)
    guard case .success(publicKey) = HoldPacket.made(made.bytes) else { throw SodiumError.decryptionFailed }
    for wrong in [[1, 0] + publicKey.dropLast(), [2, 0] + publicKey, []] {
      let isRead = HoldPacket.made(wrong.span.bytes) != nil
      #expect(!isRead)
    }
    #expect(octets(try DevicePacket.held(of: 0x0102_0304)) == [1, 11, 4, 3, 2, 1])
    #expect(octets(try DevicePacket.verify(0x0102_0304)) == [1, 12, 4, 3, 2, 1])
    let held = HoldPacket.Held(.nothing, touchesLeft: 0, end: .manyTouches)
    let answer = try DeviceReply.held(held)
    #expect(octets(answer) == [1, 0, 0, 0, 2])
    #expect(HoldPacket.held(answer.bytes) == held)
    let word = try DeviceReply.word(.notHeld, .lost)
    #expect(octets(word) == [1, 0, 19, 4])
    #expect(HoldPacket.word(word.bytes)?.word == .notHeld && HoldPacket.word(word.bytes)?.end == .lost)
    let sealed = [UInt8](repeating: 9, count: HoldPacket.sealedSize)
    let released = try DeviceReply.news(.released(sealed, at: 0x0102))
    let moment: [UInt8] = [2, 1, 0, 0, 0, 0, 0, 0]
    #expect(octets(released) == [1, 0, 16] + moment + sealed)
    guard case .released(sealed, at: 0x0102) = HoldPacket.news(released.bytes) else {
      throw SodiumError.decryptionFailed
    }
    guard case .ended(.lost) = HoldPacket.news(word.bytes) else { throw SodiumError.decryptionFailed }
    let short = [1, 0, 16] + moment + sealed.dropLast()
    let wrong: [[UInt8]] = [
      short, [1, 0, 16] + sealed, [1, 0, 16], [1, 0, 19, 0], [1, 1, 19, 4], [2, 0, 19, 4], [],
    ]
    for packet in wrong {
      let isRead = HoldPacket.news(packet.span.bytes) != nil
      #expect(!isRead)
    }
  }

  @Test("A packet that is truncated, too long or of another kind is malformed")
  func malformed() throws {
    let good = [
      octets(try DevicePacket.identity()), octets(try DevicePacket.wrap(try Key.random(), .bound, context: context)),
      octets(try DevicePacket.unwrap([UInt8](repeating: 9, count: 72), .erasable, context: context)),
      octets(try DevicePacket.eraseErasable(of: 1)), octets(try DevicePacket.move(to: .host)),
      octets(try DevicePacket.forget(1)), octets(try DevicePacket.session(of: 1)),
      octets(try DevicePacket.note(VaultGenerations(keybag: 1, database: 2), of: context, isBeginning: true)),
      octets(try DevicePacket.makeKey()), [1, 9] + [UInt8](repeating: 7, count: HandedKey.sealedSize),
      octets(try DevicePacket.drop()), octets(try DevicePacket.held(of: 1)), octets(try DevicePacket.verify(1)),
    ]
    for packet in good {
      #expect(!isMalformed(packet))
      for count in packet.indices { #expect(isMalformed(Array(packet.prefix(count)))) }
      #expect(isMalformed(packet + [0]))
      #expect(isMalformed([0] + packet.dropFirst()))
      #expect(isMalformed([2] + packet.dropFirst()))
    }
    for operation: UInt8 in [0, 13, 16, 255] { #expect(isMalformed([1, operation])) }
    for kind: UInt8 in [0, 4, 255] {
      #expect(isMalformed([1, 2, kind, 0] + [UInt8](repeating: 0, count: 32)))
      #expect(isMalformed([1, 3, kind, 0] + [UInt8](repeating: 0, count: 72)))
    }
    #expect(isMalformed([1, 2, 1, 65] + [UInt8](repeating: 0, count: 65 + 32)))
    #expect(!isMalformed([1, 2, 1, 64] + [UInt8](repeating: 0, count: 64 + 32)))
    #expect(isMalformed([UInt8](repeating: 255, count: DevicePacket.sizeLimit)))
  }
}
