import Bytes
import Keybag
import Posix
import Sodium
import Testing

@testable import Control

@Suite struct PacketTests {
  init() throws { try Sodium.initialize() }

  @Test(arguments: [
    ControlReply.need(.nothing), .need(.keys), .need(.refused("sshd lifts no lock")), .outcome(.live),
    .outcome(.staged), .outcome(.wrongKeys), .outcome(.refused("")), .outcome(.unusable("vault.db is damaged: ä€😀")),
    .locked, .status(Status()), .status(.full),
  ])
  func repliesSurviveTheWay(_ reply: ControlReply) {
    #expect(ControlReply(decoding: reply.encoded) == reply)
  }

  @Test func truncatedRepliesAreNone() {
    for reply in [ControlReply.need(.refused("why")), .outcome(.wrongKeys), .status(.full)] {
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
    let packet = ControlReply.status(status).encoded
    #expect(packet.count <= ControlPacket.sizeLimit)
    guard case .status(let read) = ControlReply(decoding: packet) else { throw Unread() }
    #expect(read.problems.count == 16 && read.problems.last == "and 285 more")
    #expect(read.classes.count == 16 && read.classes.allSatisfy(\.isPresent))
    // Cut between characters: nothing had to be replaced, and it is a beginning of what was sent.
    #expect(long.unicodeScalars.starts(with: read.problems[0].unicodeScalars) && read.problems[0].utf8.count > 390)
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
    status.collections = 2
    return status
  }
}
