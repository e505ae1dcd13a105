import LatchkeyBytes
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium
import Testing

@testable import LatchkeyControl

@Suite struct PacketTests {
  init() throws { try Sodium.initialize() }

  @Test(arguments: [
    ControlReply.need(.nothing), .need(.keys), .need(.refused("sshd lifts no lock")), .outcome(.live),
    .outcome(.staged), .outcome(.wrongKeys), .outcome(.refused("")), .outcome(.unusable("vault.db is damaged: ä€😀")),
    .locked, .status(Status()), .status(.full), .mayRotate, .mayDerive, .neededEpoch(.max), .passcodeItemsDestroyed(0),
    .passcodeItemsDestroyed(.max), .declined("not now"), .accessLogCleared(.max),
    .accessLog(AccessLogPage(lines: [], hasMore: false)), .accessLog(AccessLogPage.specimen), .noted,
    .putAside("/home/alice/.local/share/latchkey-aside-20261122-020000"),
  ])
  func repliesSurviveTheWay(_ reply: ControlReply) {
    #expect(ControlReply(decoding: reply.encoded) == reply)
  }

  @Test func truncatedRepliesAreNone() {
    for reply in [
      ControlReply.need(.refused("why")), .outcome(.wrongKeys), .status(.full), .neededEpoch(7),
      .passcodeItemsDestroyed(7), .accessLogCleared(7), .accessLog(AccessLogPage.specimen), .noted, .putAside("/home"),
    ] {
      for count in 0..<reply.encoded.count {
        #expect(ControlReply(decoding: Array(reply.encoded.prefix(count))) == nil)
      }
    }
  }

  @Test func alteredRepliesNeverTrap() {
    var random = SystemRandomNumberGenerator()
    let whole = ControlReply.status(.full).encoded
    for _ in 0..<20_000 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
      }
      _ = ControlReply(decoding: bytes)
    }
  }

  @Test func theLargestStatusFitsAPacket() throws {
    var status = Status()
    let long = String(repeating: "👩‍👩‍👧‍👦", count: 500)
    status.lockReasons = Array(repeating: long, count: 300)
    status.problems = status.lockReasons
    status.lockSources = status.lockReasons
    status.classes = Array(repeating: .init(name: long, isPresent: true), count: 300)
    (status.vaultPath, status.deviceKey, status.nameOwner) = (long, long, long)
    status.protectors = Array(repeating: .init(kind: 1, state: 1, created: .max), count: 300)
    let packet = ControlReply.status(status).encoded
    #expect(packet.count <= ControlPacket.sizeLimit)
    guard case .status(let read) = ControlReply(decoding: packet) else { throw Unread() }
    #expect(read.protectors.count == 16)
    #expect(read.problems.count == 16 && read.problems.last == "and 285 more")
    #expect(read.classes.count == 16 && read.classes.allSatisfy(\.isPresent))
    // Cut between characters: nothing had to be replaced, and it is a beginning of what was sent.
    #expect(long.unicodeScalars.starts(with: read.problems[0].unicodeScalars) && read.problems[0].utf8.count > 390)
  }

  @Test func theLongestLogFitsAPacket() throws {
    let long = String(repeating: "👩‍👩‍👧‍👦", count: 500)
    let event = AccessEvent(.open, .ended(.refused), count: 1, collection: .max, item: .max, label: long, caller: long)
    let line = AccessLogEntry(number: .max, created: .max, event: event, missing: .max)
    let page = AccessLogPage(lines: Array(repeating: line, count: 100), hasMore: false)
    #expect(page.lines.count == AccessLogPage.limit && page.hasMore)
    let packet = ControlReply.accessLog(page).encoded
    #expect(packet.count <= ControlPacket.sizeLimit)
    guard case .accessLog(let read) = ControlReply(decoding: packet) else { throw Unread() }
    #expect(read.lines.count == AccessLogPage.limit && read.hasMore)
    let label = try #require(read.lines.last?.event?.label)
    #expect(long.unicodeScalars.starts(with: label.unicodeScalars) && label.utf8.count > 250)
  }

  @Test func whatTheLogDoesNotKnowIsNoPage() {
    let whole = ControlReply.accessLog(AccessLogPage.specimen).encoded
    // More, count, flags, action, outcome of the first line.
    for (place, value) in [(2, 2), (3, 41), (28, 4), (29, 0), (29, 5), (30, 0), (30, 14)] {
      var bytes = whole
      bytes[place] = UInt8(value)
      #expect(ControlReply(decoding: bytes) == nil, "byte \(place)")
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
    let packet = try delivery.encoded(prefix: [1, 30])
    let told = packet.bytes.withUnsafeBytes { Array($0) }
    #expect(told == [1, 30] + vault + [4, 3, 2, 1] + [UInt8](repeating: 7, count: 32))
    guard case .unlockSession(let read) = ControlConnection.decode(opened: told.span.bytes) else { throw Unread() }
    #expect(read.vault == vault && read.key.epoch == 0x0102_0304)
    #expect(bytes(read.key.key) == [UInt8](repeating: 7, count: 32))
    for size in told.indices {
      let cut = told.span.bytes.extracting(first: size)
      if case .unlockSession = ControlConnection.decode(opened: cut) { throw Unread() }
    }
    if case .unlockSession = ControlConnection.decode(opened: (told + [0]).span.bytes) { throw Unread() }
  }

  @Test(arguments: [(false, false), (true, false), (false, true), (true, true)])
  func keysArriveWithWhatIsSaidOfThem(_ founded: Bool, _ leftMemory: Bool) throws {
    let delivery = TierDelivery(
      vault: [UInt8](repeating: 9, count: 16), generation: 5, founded: founded, leftMemory: leftMemory,
      tiers: try Self.tiers(1))
    let packet = try delivery.encoded(prefix: [])
    let read = arrived(packet.bytes)
    #expect(read?.founded == founded)
    #expect(read?.leftMemory == leftMemory)
  }

  @Test(arguments: [0, 1, 7]) func keysOfEveryGenerationArriveAsTheyWereSent(_ count: Int) throws {
    var former: [FormerTiers] = []
    for number in 0..<count {
      former.append(FormerTiers(number: UInt32(number + 1), tiers: try Self.tiers(UInt8(10 * number + 10))))
    }
    let delivery = TierDelivery(
      vault: [UInt8](repeating: 9, count: 16), generation: 5, founded: true, tiers: try Self.tiers(1), former: former)
    let packet = try delivery.encoded(prefix: [])
    #expect(packet.count == 89 + 68 * count)
    let whole = arrived(packet.bytes)
    let read = try #require(whole)
    #expect(read.generation == 5 && read.founded)
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

  /// What can be kept of a delivery.
  private struct Arrived {
    let generation: UInt64
    let founded: Bool
    let leftMemory: Bool
    let former: [FormerTiers]
  }

  private func arrived(_ packet: RawSpan) -> Arrived? {
    guard let delivery = TierDelivery(decoding: packet) else { return nil }
    return Arrived(
      generation: delivery.generation, founded: delivery.founded, leftMemory: delivery.leftMemory,
      former: delivery.former)
  }

  @Test func theVaultIsPutAsideOnlyByTheNameOfItsFolder() {
    var out = ControlPacket.begin(.startEmpty)
    out.text("/home/alice/.local/share/latchkey", limit: ControlPacket.pathLimit)
    guard case .startEmpty("/home/alice/.local/share/latchkey") = ControlConnection.decode(out.bytes.span.bytes) else {
      Issue.record("it was not read")
      return
    }
    // A packet that is no more than an operation says nothing, nor does a longer one.
    for bytes in [[1, 29], out.bytes + [0], Array(out.bytes.dropLast()), [1, 28, 0]] as [[UInt8]] {
      guard case .malformed = ControlConnection.decode(bytes.span.bytes) else {
        Issue.record("\(bytes) is a request")
        return
      }
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

struct Unread: Error {}

extension Status {
  /// A status in which every field has a value of its own.
  static var full: Status {
    var status = Status()
    status.state = .locked
    status.firstUnlocked = true
    status.lockReasons = ["the screen is locked", "sleep"]
    status.lockerUp = true
    status.staged = true
    status.classes = [.init(name: "when-unlocked", isPresent: false), .init(name: "always", isPresent: true)]
    status.problems = ["keybag: the file is damaged"]
    status.vaultPath = "/home/alice/.local/share/latchkey"
    status.generation = 7
    status.deviceKey = "file"
    status.memoryLocked = true
    status.nameOwner = ":1.5"
    status.lockSources = ["logind"]
    status.items = 12
    (status.collections, status.otherDeviceItems) = (2, 8)
    (status.rotation.left, status.rotation.closed) = (3, 4)
    (status.rotation.otherDevice, status.rotation.quarantined) = (5, 6)
    status.rotation.needsFormerKeys = true
    (status.epoch, status.recoveryCodeCreated) = (2, 1_700_000_000)
    status.passwordless = true
    status.hasOlderDatabase = true
    status.openedWithoutPassword = true
    status.protectors = [.init(kind: 1, state: 2, created: 3), .init(kind: 3, state: 1, created: .max)]
    status.needsFormerPassword = true
    status.swappableSecrets = 3
    return status
  }
}

extension AccessLogPage {
  /// A whole entry, and a damaged one.
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
