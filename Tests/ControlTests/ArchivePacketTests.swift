import LatchkeyBackup
import LatchkeyBackupControl
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
      report.add(
        .init(
          outcome, collection: "Wörk", label: "Mail", accessibility: .afterFirstUnlock, reason: .item(.labelDamaged)))
    }
    report.add(.init(.left, collection: "Login"))
    return report
  }

  init() throws { try Sodium.initialize() }

  static let answers: [PacketTests.Answered] = [
    .init(BeginBackup.self, 0x0102_0304_0506_0708), .init(BeginRestore.self, 7), .init(GiveChunk.self, true),
    .init(GiveChunk.self, false),
    .init(TakeChunk.self, ArchiveChunk(bytes: [1, 2, 3], isLast: true, done: 5, total: .max)),
    .init(TakeChunk.self, ArchiveChunk(bytes: [], isLast: false, done: 0, total: 0)),
    .init(FinishArchive.self, ArchivePage(of: report, after: 0)),
    .init(FinishArchive.self, ArchivePage(of: report, after: 3)),
  ]

  @Test(arguments: answers) func answersSurviveTheWay(_ answer: PacketTests.Answered) {
    #expect(answer.isRead(answer.packet))
  }

  @Test(arguments: answers) func truncatedAnswersAreNone(_ answer: PacketTests.Answered) {
    for count in 0..<answer.packet.count { #expect(!answer.isRead(Array(answer.packet.prefix(count)))) }
  }

  @Test func theBytesAreThoseOfTheFormat() {
    #expect(BeginRestore.packet(answering: 1) == [2, 11, 1, 0, 0, 0, 0, 0, 0, 0])
    let chunk = ArchiveChunk(bytes: [9], isLast: true, done: 2, total: 3)
    #expect(TakeChunk.packet(answering: chunk) == [2, 13, 1, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 9])
    #expect(GiveChunk.packet(answering: true) == [2, 14, 1])
    let page = FinishArchive.packet(answering: ArchivePage(of: Self.report, after: 6))
    #expect(page.prefix(11) == [2, 15, 0, 7, 0, 0, 0, 0, 0, 0, 0])
    #expect(page.suffix(13) == [1, 4, 0, 5, 0, 76, 111, 103, 105, 110, 0, 0, 0])
  }

  @Test func aLongReportComesInPagesThatFit() throws {
    var report = ArchiveReport()
    let long = String(repeating: "ä", count: 5000)
    for _ in 0..<95 {
      report.add(.init(.left, collection: long, label: long, accessibility: .always, reason: .verbatim(long)))
    }
    var lines = 0
    var pages = 0
    while true {
      let packet = FinishArchive.packet(answering: ArchivePage(of: report, after: UInt64(lines)))
      #expect(packet.count <= ControlPacket.sizeLimit)
      let page = try #require(FinishArchive.read(packet))
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
      let message = BeginRestore(header: header, takesTheirs: theirs, isDry: dry)
      #expect(message.packet.prefix(3) == [2, 12, (theirs ? 1 : 0) | (dry ? 2 : 0)])
      #expect(Reading.message(message.packet) == message)
    }
    let largest = [UInt8](repeating: 7, count: BackupReader.chunkLimit)
    let chunk = try #require(Reading.message([2, 14] + largest, GiveChunk.self))
    #expect(chunk.bytes == largest && chunk.packet.count <= ControlPacket.sizeLimit)
    let page = Reading.message([2, 15, 1] + [UInt8](repeating: 0, count: 7), FinishArchive.self)
    #expect(page?.after == 1)
  }

  @Test(arguments: [
    [2, 11, 0], [2, 13, 0], [2, 12], [2, 12, 0] + [UInt8](repeating: 0, count: BackupHeader.size - 1),
    [2, 12, 0] + [UInt8](repeating: 0, count: BackupHeader.size + 1),
    [2, 12, 4] + [UInt8](repeating: 0, count: BackupHeader.size), [2, 15], [2, 15, 0, 0, 0, 0, 0, 0, 0],
    [2, 16], [2, 10, 255, 255] + [UInt8](repeating: 65, count: 5000),
  ])
  func otherRequestsAreMalformed(_ bytes: [UInt8]) {
    #expect(!Reading.isMessage(bytes))
  }
}
