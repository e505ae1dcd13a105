import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyControl

/// The bytes of requests and answers about prompts and passphrases.
@Suite struct PromptPacketTests {
  init() throws { try Sodium.initialize() }

  static let request = PromptRequest(
    purpose: .collection, label: "Büro 🔑", caller: "mail", window: "x11:0x3a", terminal: "/dev/pts/3")

  static let answers: [PacketTests.Answered] = [
    .init(ShowPrompt.self, request),
    .init(ShowPrompt.self, PromptRequest(purpose: .login, label: "", caller: "", window: "", terminal: "")),
    .init(ShowPrompt.self, PromptRequest(purpose: .newPassphrase, label: "", caller: "", window: "", terminal: "")),
    .init(GetDerivation.self, PassphraseDerivation.make()),
    .init(OpenPrompt.self, OpenedPrompt(number: .max, request: request)),
    .init(OpenPrompt.self, OpenedPrompt(number: 0x0102_0304_0506_0708, request: request)),
    .init(
      ShowPrompt.self,
      PromptRequest(
        purpose: .item, label: "", caller: "", window: "", terminal: "", reason: "to send", hasPassphrase: true)),
    .init(RemovePassphrase.self, Done()),
    .init(PlacePrompt.self, Done()),
    .init(DeleteCollection.self, Done()),
  ]

  @Test(arguments: answers) func answersSurviveTheWay(_ answer: PacketTests.Answered) {
    #expect(answer.isRead(answer.packet))
  }

  @Test(arguments: answers) func truncatedAnswersAreNone(_ answer: PacketTests.Answered) {
    for count in 0..<answer.packet.count { #expect(!answer.isRead(Array(answer.packet.prefix(count)))) }
  }

  @Test func theBytesAreThoseOfTheFormat() throws {
    let texts: [UInt8] =
      [1, 0, 0x61, 0, 0, 2, 0, 0x62, 0x63, 0, 0, 1, 0, 0, 0x80, 0x2C, 0x01, 1, 0, 0x74] + [1, 0, 0x72, 1]
      + [2, 0, 0x73, 0x68, 7, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1]
    let request = PromptRequest(
      purpose: .newPassphrase, label: "a", caller: "", window: "bc", terminal: "",
      access: try AccessControl(text: "user-presence,application-password"), reuse: 300, change: "t", reason: "r",
      interpreter: PromptRequest.Interpreter(program: "sh", pid: 7, started: 9), hasPassphrase: true, isAway: true)
    #expect(ShowPrompt.packet(answering: request) == [2, 5, 3] + texts)
    #expect(
      OpenPrompt.packet(answering: OpenedPrompt(number: 0x0102, request: request)) == [2, 9, 2, 1, 0, 0, 0, 0, 0, 0, 3]
        + texts)
    #expect(RemovePassphrase.packet(answering: Done()) == [2, 10])
    #expect(PlacePrompt(.window).packet == [2, 47, 1] && PlacePrompt(.terminal).packet == [2, 47, 2])
    #expect(DeleteCollection(collection: "a").packet == [2, 46, 1, 0, 0x61])
    #expect(
      ControlPacket.declined(.folderIs("no"))
        == [2, 255, 16, 0] + Array("refusal.folderIs".utf8) + [1, 1, 2, 0, 0x6E, 0x6F])
    let derivation = PassphraseDerivation.make()
    let encoded = GetDerivation.packet(answering: derivation)
    #expect(encoded.count == 30 && Array(encoded.prefix(2)) == [2, 7] && Array(encoded[2..<18]) == derivation.salt)
    #expect(encoded[18] == 3)
  }

  private func octets(_ bytes: borrowing SecureBytes) -> [UInt8] { bytes.bytes.withUnsafeBytes { Array($0) } }

  @Test func aGivenPassphraseIsWhatSomebodyCouldType() throws {
    for text in ["x", "open sesame", String(repeating: "x", count: 511)] {
      let bytes = Array(text.utf8)
      guard let given = try GivenPassphrase(copying: bytes.span.bytes) else { throw Unread() }
      let key = try OneTimeKey()
      let packet = TakePassphrase.packet(answering: try SealedPassphrase(given, to: key.publicKey))
      #expect(packet.prefix(2) == [2, 31] && packet.count == 2 + 2 + bytes.count + 48)
      guard let read = try TakePassphrase.answer(in: packet).open(with: key) else { throw Unread() }
      #expect(octets(read.bytes) == bytes)
    }
    for bytes: [UInt8] in [[], [0], [0x61, 0], [UInt8](repeating: 1, count: 512)] {
      let isGiven = try GivenPassphrase(copying: bytes.span.bytes) != nil
      let isRead = try givesPassphrase([2, 31] + bytes)
      #expect(!isGiven && !isRead)
    }
    for packet: [UInt8] in [[1, 31, 1], [2, 30, 1], ControlPacket.declined(.verbatim("x"))] {
      #expect(throws: SodiumError.decryptionFailed) { _ = try givesPassphrase(packet) }
    }
  }

  /// Whether the daemon reads a passphrase from a sealed packet.
  private func givesPassphrase(_ packet: [UInt8]) throws -> Bool {
    let key = try OneTimeKey()
    let box = try SealedBox.seal(packet.span.bytes, to: key.publicKey)
    return try TakePassphrase.answer(in: [2, 31] + box).open(with: key) != nil
  }

  @Test(arguments: [(3, 32 << 20), (10, 1 << 30), (4, (32 << 20) + 1024)] as [(UInt32, UInt64)])
  func aReasonableCostIsTaken(passes: UInt32, memory: UInt64) throws {
    let derivation = try #require(GetDerivation.read(PromptPacketTests.derivation(passes, memory)))
    #expect(derivation.cost.passes == passes && derivation.cost.memory == memory)
    #expect(derivation.salt == Array(1...16))
  }

  private static func derivation(_ passes: UInt32, _ memory: UInt64) -> [UInt8] {
    var out = ControlPacket.begin(GetDerivation.operation)
    out.put(Array(1...16))
    out.number(passes)
    out.number(memory)
    return out.bytes
  }

  @Test func longTextsAreCutBetweenCharacters() throws {
    let long = "x" + String(repeating: "ü", count: 5000)
    let request = PromptRequest(
      purpose: .login, label: long, caller: long, window: long, terminal: long, reason: long)
    let shown = try #require(ShowPrompt.read(ShowPrompt.packet(answering: request)))
    let opened = try #require(
      OpenPrompt.read(OpenPrompt.packet(answering: OpenedPrompt(number: 7, request: request))))
    for read in [shown, opened.request] {
      for text in [read.label, read.caller, read.window, read.terminal, read.reason] {
        #expect(text.utf8.count == 255 && long.hasPrefix(text))
      }
    }
    #expect(throws: ControlError.declined(.verbatim(String(long.prefix(255)) + "…"))) {
      _ = try GetStatus.answer(in: ControlPacket.declined(.verbatim(long)))
    }
  }

  /// The end of a request from a program that is not an interpreter and not at another machine: an empty name, no process, no start.
  private static let noInterpreter = [UInt8](repeating: 0, count: 2 + 4 + 8 + 1)

  /// Whether a client reads a packet as an answer with a prompt.
  private func isRead(_ packet: [UInt8]) -> Bool { ShowPrompt.read(packet) != nil || OpenPrompt.read(packet) != nil }

  @Test(arguments: 0..<6) func longerTextsThanAnyoneSendsAreRefused(field: Int) {
    for (size, isTaken) in [(255, true), (256, false), (5000, false)] {
      for head in [[2, 5], [2, 9, 7, 0, 0, 0, 0, 0, 0, 0]] as [[UInt8]] {
        var out = ByteWriter()
        out.put(head)
        out.number(UInt8(1))
        let texts = (0..<6).map { String(repeating: "x", count: $0 == field ? size : 3) }
        for text in texts[..<4] { out.text(text) }
        out.number(UInt32(0))
        out.number(UInt16(0))
        for text in texts[4...] { out.text(text) }
        out.number(UInt8(0))
        out.put(PromptPacketTests.noInterpreter)
        #expect(isRead(out.bytes) == isTaken)
      }
    }
  }

  @Test(arguments: [0, 200, 255] as [UInt8]) func anUnknownPurposeIsNone(purpose: UInt8) {
    let texts = [UInt8](repeating: 0, count: 18)
    let rest = texts + [0] + PromptPacketTests.noInterpreter
    #expect(isRead([2, 5, 1] + rest))
    #expect(!isRead([2, 5, 1] + texts + [2] + PromptPacketTests.noInterpreter))
    #expect(!isRead([2, 5, 1] + rest.dropLast() + [2]))
    #expect(!isRead([2, 5, purpose] + rest))
    #expect(!isRead([2, 9, 7, 0, 0, 0, 0, 0, 0, 0, purpose] + rest))
  }

  @Test func flagsThatDoNotGoTogetherAreNoRequest() {
    for (flags, isPossible) in [
      (0x11, false), (0xA, false), (0x4, false), (0xC010, false), (.max, false), (0x1, true),
    ] as [(UInt32, Bool)] {
      var out = ByteWriter()
      out.put([2, 5, 4] + [UInt8](repeating: 0, count: 8))
      out.number(flags)
      out.number(UInt16(0))
      out.text("")
      out.text("")
      out.number(UInt8(0))
      out.put(PromptPacketTests.noInterpreter)
      #expect(isRead(out.bytes) == isPossible)
    }
  }

  @Test func alteredAnswersNeverTrap() {
    var random = SystemRandomNumberGenerator()
    let wholes = PromptPacketTests.answers
    for turn in 0..<40_000 {
      let whole = wholes[turn % wholes.count]
      var bytes = whole.packet
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
      }
      bytes.removeLast(.random(in: 0..<bytes.count, using: &random))
      _ = whole.isRead(bytes)
    }
  }

  @Test(arguments: [0, 1, 0x0102_0304_0506_0708, UInt64.max]) func theHelloHasPromptAndMomentAtItsEnd(number: UInt64) {
    let hello = Hello(
      stage: .authenticate, service: "latchkey-unlock", tty: "tty7", remoteHost: "", prompt: number, given: ~number)
    var out = ByteWriter()
    hello.encode(into: &out)
    let numbers = [number, ~number].flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
    #expect(Array(out.bytes.suffix(16)) == numbers)
    var input = ByteReader(out.bytes)
    #expect(Hello(decoding: &input) == hello && input.remaining == 0)
    for count in out.bytes.indices {
      var input = ByteReader(Array(out.bytes.prefix(count)))
      #expect(Hello(decoding: &input) == nil)
    }
  }
}
