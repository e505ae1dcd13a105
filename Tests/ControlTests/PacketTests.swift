import LatchkeyAccessEvent
import LatchkeyBytes
import LatchkeyKeybag
import LatchkeyLogControl
import LatchkeyPosix
import LatchkeySodium
import Testing

@testable import LatchkeyControl

@Suite struct PacketTests {
  init() throws { try Sodium.initialize() }

  /// An answer, and the client's function that reads it.
  struct Answered: Sendable, CustomTestStringConvertible {
    let packet: [UInt8]
    let isRead: @Sendable ([UInt8]) -> Bool
    let testDescription: String

    init<Message: ControlMessage>(_: Message.Type, _ answer: Message.Answer)
    where Message.Answer: Equatable & Sendable {
      packet = Message.packet(answering: answer)
      isRead = { Message.read($0) == answer }
      testDescription = "\(Message.self): \(answer)"
    }
  }

  static let answers: [Answered] = [
    Answered(Hello.self, .nothing), Answered(Hello.self, .keys),
    Answered(Hello.self, .refused(.verbatim("sshd lifts no lock"))),
    Answered(Hello.self, .late),
    Answered(LockVault.self, Done()), Answered(GetStatus.self, Status()), Answered(GetStatus.self, .full),
    Answered(CheckMayRotate.self, Done()), Answered(CheckMayDerive.self, Done()),
    Answered(MakeOneTimeKey.self, OneTimePublicKey(bytes: Array(1...32))), Answered(GetNeededEpoch.self, .max),
    Answered(DestroyPasscodeItems.self, 0), Answered(DestroyPasscodeItems.self, .max),
    Answered(ClearAccessLog.self, .max), Answered(GetAccessLog.self, AccessLogPage(lines: [], hasMore: false)),
    Answered(GetAccessLog.self, AccessLogPage.specimen), Answered(NoteOtherPassword.self, Done()),
    Answered(NoteSlowPassword.self, Done()),
    Answered(PutVaultAside.self, VaultAside(path: "/home/alice/.local/share/latchkey-aside-20261122-020000")),
  ]

  @Test(arguments: answers) func answersSurviveTheWay(_ answer: Answered) { #expect(answer.isRead(answer.packet)) }

  @Test(arguments: answers) func truncatedAnswersAreNone(_ answer: Answered) {
    for count in 0..<answer.packet.count { #expect(!answer.isRead(Array(answer.packet.prefix(count)))) }
  }

  @Test(arguments: [
    UnlockOutcome.live, .staged, .wrongKeys, .refused(.verbatim("")), .unusable(.verbatim("vault.db is damaged: ä€😀")),
  ])
  func outcomesSurviveTheWay(_ outcome: UnlockOutcome) throws {
    let read = try UnlockOutcome(decodingAnswer: outcome.packet, of: UnlockOutcome.operation)
    #expect(read == outcome)
    for count in 0..<outcome.packet.count {
      #expect(throws: ControlError.broken) {
        _ = try UnlockOutcome(decodingAnswer: Array(outcome.packet.prefix(count)), of: UnlockOutcome.operation)
      }
    }
  }

  @Test func whatCannotBeDoneHasItsReason() {
    let packet = ControlPacket.declined(.verbatim("not now"))
    #expect(throws: ControlError.declined(.verbatim("not now"))) { _ = try GetStatus.answer(in: packet) }
    for count in 0..<packet.count {
      #expect(throws: ControlError.broken) { _ = try GetStatus.answer(in: Array(packet.prefix(count))) }
    }
  }

  @Test func theAnswerToAnotherMessageIsNone() {
    #expect(LockVault.read(CheckMayRotate.packet(answering: Done())) == nil)
    #expect(ClearAccessLog.read(DestroyPasscodeItems.packet(answering: 1)) == nil)
    // Both messages have the same answer number, and a client recognises the answer by that number.
    #expect(NoteSlowPassword.read(NoteOtherPassword.packet(answering: Done())) != nil)
  }

  @Test func noTwoMessagesHaveOneNumber() {
    let keys: [UInt8] = [
      UnlockWithTiers.operation, PassphraseKey.operation, Rotate.operation, SessionDelivery.operation,
    ]
    let numbers = Reading.messages.map { $0.operation } + keys
    #expect(Set(numbers).count == numbers.count)
  }

  @Test func alteredAnswersNeverTrap() {
    var random = SystemRandomNumberGenerator()
    let whole = GetStatus.packet(answering: .full)
    for _ in 0..<20_000 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
      }
      _ = GetStatus.read(bytes)
    }
  }

  @Test func theLargestStatusFitsAPacket() throws {
    var status = Status()
    let long = String(repeating: "👩‍👩‍👧‍👦", count: 500)
    status.lockReasons = Array(repeating: .verbatim(long), count: 300)
    status.problems = status.lockReasons
    status.lockSources = status.lockReasons
    status.classes = Array(repeating: .init(name: long, isPresent: true), count: 300)
    (status.vaultPath, status.deviceKey, status.nameOwner) = (long, long, long)
    status.protectors = Array(repeating: .init(kind: 1, state: 1, created: .max), count: 300)
    (status.history.problem, status.damagedFiles) = (.verbatim(long), Array(repeating: long, count: 300))
    let packet = GetStatus.packet(answering: status)
    #expect(packet.count <= ControlPacket.sizeLimit)
    let read = try #require(GetStatus.read(packet))
    #expect(read.protectors.count == 16 && read.damagedFiles.count == 8)
    #expect(read.problems.count == 16 && read.problems.last == .andMore(285))
    #expect(read.classes.count == 16 && read.classes.allSatisfy(\.isPresent))
    // The text ends between characters, so no byte was replaced. Before the ellipsis it equals the beginning of the original.
    let cut = read.problems[0].text
    #expect(long.unicodeScalars.starts(with: cut.unicodeScalars.dropLast()))
    #expect(cut.hasSuffix("…") && cut.utf8.count > 370)
  }

  @Test func theLongestLogFitsAPacket() throws {
    let long = String(repeating: "👩‍👩‍👧‍👦", count: 500)
    let event = AccessEvent(.open, .ended(.refused), count: 1, collection: .max, item: .max, label: long, caller: long)
    let line = AccessLogEntry(number: .max, created: .max, event: event, missing: .max)
    let page = AccessLogPage(lines: Array(repeating: line, count: 100), hasMore: false)
    #expect(page.lines.count == AccessLogPage.limit && page.hasMore)
    let packet = GetAccessLog.packet(answering: page)
    #expect(packet.count <= ControlPacket.sizeLimit)
    let read = try #require(GetAccessLog.read(packet))
    #expect(read.lines.count == AccessLogPage.limit && read.hasMore)
    let label = try #require(read.lines.last?.event?.label)
    #expect(long.unicodeScalars.starts(with: label.unicodeScalars) && label.utf8.count > 250)
  }

  @Test func whatTheLogDoesNotKnowIsNoPage() {
    let whole = GetAccessLog.packet(answering: .specimen)
    // The fields at these places: more, count, and then flags, action and outcome of the first entry.
    for (place, value) in [(2, 2), (3, 41), (28, 4), (29, 0), (29, 5), (30, 0), (30, 14)] {
      var bytes = whole
      bytes[place] = UInt8(value)
      #expect(GetAccessLog.read(bytes) == nil, "byte \(place)")
    }
  }

  private static func key(_ byte: UInt8) throws -> Key {
    try Key(copying: [UInt8](repeating: byte, count: 32).span.bytes)
  }

  private static func tiers(_ byte: UInt8) throws -> TierKeys {
    TierKeys(unlocked: try key(byte), session: try key(byte + 1))
  }

  @Test func aSessionsKeyArrivesAsItWasSent() throws {
    let vault = [UInt8](repeating: 9, count: 16)
    let delivery = SessionDelivery(
      vault: vault, key: SessionKey(epoch: 0x0102_0304, key: try Self.key(7)))
    let packet = try delivery.packet()
    let told = packet.bytes.withUnsafeBytes { Array($0) }
    #expect(told == [2, 30] + vault + [4, 3, 2, 1] + [UInt8](repeating: 7, count: 32))
    let fields = Array(told.dropFirst(2))
    guard let read = SessionDelivery(decoding: fields.span.bytes) else { throw Unread() }
    #expect(read.vault == vault && read.key.epoch == 0x0102_0304)
    #expect(bytes(read.key.key) == [UInt8](repeating: 7, count: 32))
    for size in fields.indices {
      if SessionDelivery(decoding: fields.span.bytes.extracting(first: size)) != nil { throw Unread() }
    }
    if SessionDelivery(decoding: (fields + [0]).span.bytes) != nil { throw Unread() }
  }

  @Test(arguments: [(false, false), (true, false), (false, true), (true, true)])
  func keysArriveWithWhatIsSaidOfThem(_ created: Bool, _ leftMemory: Bool) throws {
    let delivery = TierDelivery(
      vault: [UInt8](repeating: 9, count: 16), generation: 5, created: created, leftMemory: leftMemory,
      tiers: try Self.tiers(1))
    let packet = try delivery.encoded(behind: [])
    let read = arrived(packet.bytes)
    #expect(read?.created == created)
    #expect(read?.leftMemory == leftMemory)
  }

  @Test(arguments: [0, 1, 7]) func keysOfEveryGenerationArriveAsTheyWereSent(_ count: Int) throws {
    var former: [FormerTiers] = []
    for number in 0..<count {
      former.append(FormerTiers(number: UInt32(number + 1), tiers: try Self.tiers(UInt8(10 * number + 10))))
    }
    let delivery = TierDelivery(
      vault: [UInt8](repeating: 9, count: 16), generation: 5, created: true, tiers: try Self.tiers(1), former: former)
    let packet = try delivery.encoded(behind: [])
    #expect(packet.count == 89 + 68 * count)
    let whole = arrived(packet.bytes)
    let read = try #require(whole)
    #expect(read.generation == 5 && read.created)
    #expect(read.former.map { $0.number } == former.map { $0.number })
    let told = packet.bytes.withUnsafeBytes { Array($0) }
    let keys = [UInt8](repeating: 1, count: 32) + [UInt8](repeating: 2, count: 32)
    #expect(Array(told[25..<89]) == keys)
    for (number, one) in read.former.enumerated() {
      let sent = UInt8(10 * number + 10)
      #expect(bytes(one.tiers.unlocked) == [UInt8](repeating: sent, count: 32))
      #expect(bytes(one.tiers.session) == [UInt8](repeating: sent + 1, count: 32))
    }
    for size in 0..<told.count where size < 89 || (size - 89) % 68 != 0 {
      let cut = arrived(told.span.bytes.extracting(first: size))
      #expect(cut == nil)
    }
  }

  private func bytes(_ key: borrowing Key) -> [UInt8] { key.bytes.withUnsafeBytes { Array($0) } }

  /// The values of a delivery that can be copied.
  private struct Arrived {
    let generation: UInt64
    let created: Bool
    let leftMemory: Bool
    let former: [FormerTiers]
  }

  private func arrived(_ packet: RawSpan) -> Arrived? {
    guard let delivery = TierDelivery(decoding: packet) else { return nil }
    return Arrived(
      generation: delivery.generation, created: delivery.created, leftMemory: delivery.leftMemory,
      former: delivery.former)
  }

  @Test func theVaultIsPutAsideOnlyByTheNameOfItsFolder() {
    let packet = PutVaultAside(folder: "/home/alice/.local/share/latchkey").packet
    #expect(Reading.message(packet, PutVaultAside.self)?.folder == "/home/alice/.local/share/latchkey")
    // A packet with only an operation is malformed, and so is a packet that is too long.
    for bytes in [[2, 29], packet + [0], Array(packet.dropLast()), [2, 28, 0]] as [[UInt8]] {
      #expect(!Reading.isMessage(bytes), "\(bytes)")
    }
  }

  @Test func moreGenerationsThanAKeybagHasAreNoDelivery() {
    let most = [UInt8](repeating: 1, count: 89 + 68 * 7)
    let tooMany = [UInt8](repeating: 1, count: 89 + 68 * 8)
    let (some, none) = (arrived(most.span.bytes), arrived(tooMany.span.bytes))
    #expect(some != nil && none == nil)
  }

  @Test func longClaimsAreCut() throws {
    let long = String(repeating: "x", count: 10_000)
    var out = ByteWriter()
    Hello(stage: .authenticate, service: long, tty: long, remoteHost: "ü" + long).encode(into: &out)
    var input = ByteReader(out.bytes)
    let hello = try #require(Hello(decoding: &input))
    #expect(hello.service.utf8.count == 255 && hello.remoteHost.utf8.count == 255)
  }

  @Test func longerClaimsThanAnyoneSendsAreRefused() {
    var out = ByteWriter()
    out.number(UInt8(1))
    out.text(String(repeating: "x", count: 256))
    out.text("")
    out.text("")
    var input = ByteReader(out.bytes)
    #expect(Hello(decoding: &input) == nil)
  }
}

extension Status {
  /// A status in which each field has a value of its own.
  static var full: Status {
    var status = Status()
    status.state = .locked
    status.firstUnlocked = true
    status.lockReasons = [.session(.screenSaver), .session(.sleep)]
    status.lockerUp = true
    status.staged = true
    status.classes = [.init(name: "when-unlocked", isPresent: false), .init(name: "always", isPresent: true)]
    status.problems = [.of(.keybag, .keybag(.damaged))]
    status.vaultPath = "/home/alice/.local/share/latchkey"
    status.generation = 7
    status.deviceKey = "file"
    status.memoryLocked = true
    status.nameOwner = ":1.5"
    status.lockSources = [.session(.logind)]
    status.items = 12
    (status.collections, status.otherDeviceItems) = (2, 8)
    (status.rotation.left, status.rotation.closed) = (3, 4)
    (status.rotation.otherDevice, status.rotation.quarantined) = (5, 6)
    status.rotation.needsFormerKeys = true
    (status.epoch, status.recoveryCodeCreated) = (2, 1_700_000_000)
    status.passwordless = true
    status.hasOlderDatabase = true
    status.openedWithoutPassword = true
    status.protectors = [
      .init(kind: 1, state: 2, created: 3), .init(kind: 6, state: 1, created: .max, name: "blå"),
    ]
    (status.needsFormerPassword, status.hasWaitingCollections) = (true, true)
    status.swappableSecrets = 3
    (status.history.isOn, status.history.count, status.history.newest) = (true, 24, 1_700_000_000)
    status.history.problem = .vault(.diskFull)
    status.damagedFiles = ["keybag.damaged-20261123-141303", "vault.db.damaged-20261123-141303"]
    return status
  }
}

extension AccessLogPage {
  /// A whole log entry and a damaged log entry.
  fileprivate static var specimen: AccessLogPage {
    AccessLogPage(
      lines: [
        .init(
          number: 9, created: 1_700_000_000,
          event: AccessEvent(.open, .ended(.granted), collection: 1, item: 5, label: "Bänk", caller: "mail"), missing: 2
        ),
        .init(number: 6, created: 0, event: nil, missing: 0),
      ], hasMore: true)
  }
}
