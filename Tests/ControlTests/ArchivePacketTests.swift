import LatchkeyBackup
import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyControl

@Suite struct ArchivePacketTests {
  static var report: ArchiveReport {
    var report = ArchiveReport()
    report.items = 7
    report.same = 2
    for outcome in [ArchiveReport.Outcome.added, .replaced, .conflict, .left, .excluded, .notice] {
      report.add(.init(outcome, collection: "Wörk", label: "Mail", accessibility: .afterFirstUnlock, reason: "why"))
    }
    report.add(.init(.left, collection: "Login"))
    return report
  }

  init() throws { try Sodium.initialize() }

  static let replies: [ControlReply] = [
    .archiveOpened(0x0102_0304_0506_0708), .chunkTaken(isLast: true), .chunkTaken(isLast: false),
    .chunk(ArchiveChunk(bytes: [1, 2, 3], isLast: true, done: 5, total: .max)),
    .chunk(ArchiveChunk(bytes: [], isLast: false, done: 0, total: 0)),
    .archiveReport(ArchivePage(of: report, after: 0)), .archiveReport(ArchivePage(of: report, after: 3)),
  ]

  @Test(arguments: replies)
  func repliesSurviveTheWay(_ reply: ControlReply) {
    #expect(ControlReply(decoding: reply.encoded) == reply)
  }

  @Test(arguments: replies.filter { if case .chunk = $0 { false } else { true } })
  func truncatedRepliesAreNone(_ reply: ControlReply) {
    for count in 0..<reply.encoded.count {
      #expect(ControlReply(decoding: Array(reply.encoded.prefix(count))) == nil)
    }
  }

  @Test func theBytesAreThoseOfTheFormat() {
    #expect(ControlReply.archiveOpened(1).encoded == [1, 11, 1, 0, 0, 0, 0, 0, 0, 0])
    let chunk = ArchiveChunk(bytes: [9], isLast: true, done: 2, total: 3)
    #expect(ControlReply.chunk(chunk).encoded == [1, 13, 1, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 9])
    #expect(ControlReply.chunkTaken(isLast: true).encoded == [1, 14, 1])
    let page = ControlReply.archiveReport(ArchivePage(of: Self.report, after: 6)).encoded
    #expect(page.prefix(11) == [1, 15, 0, 7, 0, 0, 0, 0, 0, 0, 0])
    #expect(page.suffix(14) == [1, 4, 0, 5, 0, 76, 111, 103, 105, 110, 0, 0, 0, 0])
  }

  @Test func aLongReportComesInPagesThatFit() throws {
    var report = ArchiveReport()
    let long = String(repeating: "ä", count: 5000)
    for _ in 0..<95 { report.add(.init(.left, collection: long, label: long, accessibility: .always, reason: long)) }
    var lines = 0
    var pages = 0
    while true {
      let packet = ControlReply.archiveReport(ArchivePage(of: report, after: UInt64(lines))).encoded
      #expect(packet.count <= ControlPacket.sizeLimit)
      guard case .archiveReport(let page) = ControlReply(decoding: packet) else { throw Unread() }
      #expect(page.report.left == 95)
      lines += page.report.lines.count
      pages += 1
      if !page.hasMore { break }
    }
    #expect(lines == 95 && pages == 3)
    #expect(ArchivePage(of: report, after: .max).report.lines.isEmpty)
  }

  @Test func requestsAreReadAsTheyWereWritten() throws {
    let header = (0..<BackupHeader.size).map { UInt8($0) }
    for (theirs, dry) in [(false, false), (true, false), (false, true), (true, true)] {
      let request = RestoreRequest(header: header, takesTheirs: theirs, isDry: dry)
      var out = ControlPacket.begin(.beginRestore)
      request.encode(into: &out)
      #expect(out.bytes.prefix(3) == [1, 12, (theirs ? 1 : 0) | (dry ? 2 : 0)])
      guard case .beginRestore(let read) = ControlConnection.decode(out.bytes.span.bytes) else { throw Unread() }
      #expect(read == request)
    }
    let largest = [UInt8](repeating: 7, count: BackupReader.chunkLimit)
    guard case .giveChunk(let chunk) = ControlConnection.decode(([1, 14] + largest).span.bytes) else { throw Unread() }
    #expect(chunk == largest && chunk.count + 2 <= ControlPacket.sizeLimit)
    guard
      case .archiveReport(let line) = ControlConnection.decode(
        ([1, 15, 1] + [UInt8](repeating: 0, count: 7)).span.bytes)
    else { throw Unread() }
    #expect(line == 1)
  }

  @Test(arguments: [
    [1, 11, 0], [1, 13, 0], [1, 12], [1, 12, 0] + [UInt8](repeating: 0, count: BackupHeader.size - 1),
    [1, 12, 0] + [UInt8](repeating: 0, count: BackupHeader.size + 1),
    [1, 12, 4] + [UInt8](repeating: 0, count: BackupHeader.size), [1, 15], [1, 15, 0, 0, 0, 0, 0, 0, 0],
    [1, 16], [1, 10, 255, 255] + [UInt8](repeating: 65, count: 5000),
  ])
  func otherRequestsAreMalformed(_ bytes: [UInt8]) throws {
    guard case .malformed = ControlConnection.decode(bytes.span.bytes) else { throw Unread() }
  }
}
