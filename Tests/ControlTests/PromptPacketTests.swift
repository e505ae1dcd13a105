import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyControl

/// What is asked and answered about prompts and passphrases, byte by byte.
@Suite struct PromptPacketTests {
  init() throws { try Sodium.initialize() }

  static let request = PromptRequest(
    purpose: .collection, label: "Büro 🔑", caller: "mail", window: "x11:0x3a", terminal: "/dev/pts/3")

  static var replies: [ControlReply] {
    [
      .prompt(request), .prompt(PromptRequest(purpose: .login, label: "", caller: "", window: "", terminal: "")),
      .prompt(PromptRequest(purpose: .newPassphrase, label: "", caller: "", window: "", terminal: "")),
      .derivation(PassphraseDerivation.make()), .opened(.max, request), .opened(0x0102_0304_0506_0708, request),
      .prompt(
        PromptRequest(
          purpose: .item, label: "", caller: "", window: "", terminal: "", reason: "to send", hasPassphrase: true)),
      .passphraseRemoved, .declined(""), .declined("there is no such prompt: ä€😀"),
    ]
  }

  @Test func repliesSurviveTheWay() {
    for reply in PromptPacketTests.replies { #expect(ControlReply(decoding: reply.encoded) == reply) }
  }

  @Test func truncatedRepliesAreNone() {
    for reply in PromptPacketTests.replies {
      for count in 0..<reply.encoded.count {
        #expect(ControlReply(decoding: Array(reply.encoded.prefix(count))) == nil)
      }
    }
  }

  @Test func theBytesAreThoseOfTheFormat() throws {
    let texts: [UInt8] =
      [1, 0, 0x61, 0, 0, 2, 0, 0x62, 0x63, 0, 0, 1, 0, 0, 0x80, 0x2C, 0x01, 1, 0, 0x74] + [1, 0, 0x72, 1]
    let request = PromptRequest(
      purpose: .newPassphrase, label: "a", caller: "", window: "bc", terminal: "",
      access: try AccessControl(text: "user-presence,application-password"), reuse: 300, change: "t", reason: "r",
      hasPassphrase: true)
    #expect(ControlReply.prompt(request).encoded == [1, 5, 3] + texts)
    #expect(ControlReply.opened(0x0102, request).encoded == [1, 9, 2, 1, 0, 0, 0, 0, 0, 0, 3] + texts)
    #expect(ControlReply.passphraseRemoved.encoded == [1, 10])
    #expect(ControlReply.declined("no").encoded == [1, 255, 2, 0, 0x6E, 0x6F])
    let derivation = PassphraseDerivation.make()
    let encoded = ControlReply.derivation(derivation).encoded
    #expect(encoded.count == 30 && Array(encoded.prefix(2)) == [1, 7] && Array(encoded[2..<18]) == derivation.salt)
    #expect(encoded[18] == 3)
  }

  private func octets(_ bytes: borrowing SecureBytes) -> [UInt8] { bytes.bytes.withUnsafeBytes { Array($0) } }

  @Test func aGivenPassphraseIsWhatSomebodyCouldType() throws {
    for text in ["x", "open sesame", String(repeating: "x", count: 511)] {
      let bytes = Array(text.utf8)
      guard let given = try GivenPassphrase(copying: bytes.span.bytes) else { throw Unread() }
      let packet = octets(try given.encoded())
      #expect(packet == [1, 31] + bytes)
      guard let read = GivenPassphrase.read(packet.span.bytes) else { throw Unread() }
      #expect(octets(read.bytes) == bytes)
      #expect(ControlReply(decoding: packet) == nil)
    }
    for bytes: [UInt8] in [[], [0], [0x61, 0], [UInt8](repeating: 1, count: 512)] {
      let packet = [1, 31] + bytes
      let isGiven = try GivenPassphrase(copying: bytes.span.bytes) != nil
      let isRead = GivenPassphrase.read(packet.span.bytes) != nil
      #expect(!isGiven && !isRead)
    }
    for packet: [UInt8] in [[], [1], [2, 31, 1], [1, 30, 1], ControlReply.declined("x").encoded] {
      let isRead = GivenPassphrase.read(packet.span.bytes) != nil
      #expect(!isRead)
    }
  }

  @Test(arguments: [(3, 32 << 20), (10, 1 << 30), (4, (32 << 20) + 1024)] as [(UInt32, UInt64)])
  func aReasonableCostIsTaken(passes: UInt32, memory: UInt64) throws {
    let reply = ControlReply(decoding: PromptPacketTests.derivation(passes, memory))
    guard case .derivation(let derivation) = reply else { throw Unread() }
    #expect(derivation.cost.passes == passes && derivation.cost.memory == memory)
    #expect(derivation.salt == Array(1...16))
  }

  private static func derivation(_ passes: UInt32, _ memory: UInt64) -> [UInt8] {
    var out = ControlPacket.begin(.derivation)
    out.put(Array(1...16))
    out.number(passes)
    out.number(memory)
    return out.bytes
  }

  @Test func longTextsAreCutBetweenCharacters() throws {
    let long = "x" + String(repeating: "ü", count: 5000)
    let request = PromptRequest(
      purpose: .login, label: long, caller: long, window: long, terminal: long, reason: long)
    for reply in [ControlReply.prompt(request), .opened(7, request)] {
      let read: PromptRequest
      switch ControlReply(decoding: reply.encoded) {
      case .prompt(let request), .opened(7, let request): read = request
      default: throw Unread()
      }
      for text in [read.label, read.caller, read.window, read.terminal, read.reason] {
        #expect(text.utf8.count == 255 && long.hasPrefix(text))
      }
    }
    guard case .declined(let reason) = ControlReply(decoding: ControlReply.declined(long).encoded) else {
      throw Unread()
    }
    #expect(reason.utf8.count == 1023 && long.hasPrefix(reason))
  }

  @Test(arguments: 0..<6) func longerTextsThanAnyoneSendsAreRefused(field: Int) {
    for (size, isTaken) in [(255, true), (256, false), (5000, false)] {
      for head in [[1, 5], [1, 9, 7, 0, 0, 0, 0, 0, 0, 0]] as [[UInt8]] {
        var out = ByteWriter()
        out.put(head)
        out.number(UInt8(1))
        let texts = (0..<6).map { String(repeating: "x", count: $0 == field ? size : 3) }
        for text in texts[..<4] { out.text(text) }
        out.number(UInt32(0))
        out.number(UInt16(0))
        for text in texts[4...] { out.text(text) }
        out.number(UInt8(0))
        #expect((ControlReply(decoding: out.bytes) != nil) == isTaken)
      }
    }
  }

  @Test(arguments: [0, 200, 255] as [UInt8]) func anUnknownPurposeIsNone(purpose: UInt8) {
    let rest = [UInt8](repeating: 0, count: 19)
    #expect(ControlReply(decoding: [1, 5, 1] + rest) != nil)
    #expect(ControlReply(decoding: [1, 5, 1] + rest.dropLast() + [2]) == nil)
    #expect(ControlReply(decoding: [1, 5, purpose] + rest) == nil)
    #expect(ControlReply(decoding: [1, 9, 7, 0, 0, 0, 0, 0, 0, 0, purpose] + rest) == nil)
  }

  @Test func flagsThatDoNotGoTogetherAreNoRequest() {
    for (flags, isPossible) in [
      (0x11, false), (0xA, false), (0x4, false), (0xC010, false), (.max, false), (0x1, true),
    ] as [(UInt32, Bool)] {
      var out = ByteWriter()
      out.put([1, 5, 4] + [UInt8](repeating: 0, count: 8))
      out.number(flags)
      out.number(UInt16(0))
      out.text("")
      out.text("")
      out.number(UInt8(0))
      #expect((ControlReply(decoding: out.bytes) != nil) == isPossible)
    }
  }

  @Test(arguments: [6, 8, 12, 16, 254] as [UInt8]) func whatIsNeverAnAnswerIsNone(operation: UInt8) {
    for size in [0, 1, 3, 40] {
      #expect(ControlReply(decoding: [1, operation] + [UInt8](repeating: 0, count: size)) == nil)
    }
  }

  @Test func alteredRepliesNeverTrap() {
    var random = SystemRandomNumberGenerator()
    let wholes = PromptPacketTests.replies.map(\.encoded)
    for turn in 0..<40_000 {
      var bytes = wholes[turn % wholes.count]
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
      }
      bytes.removeLast(.random(in: 0..<bytes.count, using: &random))
      _ = ControlReply(decoding: bytes)
    }
  }

  @Test(arguments: [0, 1, 0x0102_0304_0506_0708, UInt64.max]) func theHelloHasThePromptAtItsEnd(number: UInt64) {
    let hello = Hello(stage: .authenticate, service: "latchkey-unlock", tty: "tty7", remoteHost: "", prompt: number)
    var out = ByteWriter()
    hello.encode(into: &out)
    #expect(Array(out.bytes.suffix(8)) == (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) })
    var input = ByteReader(out.bytes)
    #expect(Hello(decoding: &input) == hello && input.remaining == 0)
    for count in out.bytes.indices {
      var input = ByteReader(Array(out.bytes.prefix(count)))
      #expect(Hello(decoding: &input) == nil)
    }
  }
}
