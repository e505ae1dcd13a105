import LatchkeyBackup
import LatchkeyBackupControl
import LatchkeyHistoryControl
import LatchkeyKeybag
import LatchkeyReasons
import LatchkeySodium
import Testing

@testable import LatchkeyControl

@Suite struct GenerationPacketTests {
  private static let long = String(repeating: "ä", count: 5000)

  private static func list(_ count: UInt32, problem: Reason? = nil) -> GenerationPage {
    GenerationPage(
      isOn: true, settings: "/home/alice/.config/latchkey/history.yaml", problem: problem,
      lines: (0..<count).map {
        .init(number: count - $0, time: 1_700_000_000, size: .max, items: 7, problem: problem)
      }, hasMore: false)
  }

  private static let differences: [ComparisonPage.Line] = [ComparisonPage.Change.deleted, .changed, .new].map {
    .init($0, item: 5, collection: 1, home: "Login", label: "Mail", accessibility: .always, obstacle: .item(.destroyed))
  }

  private static func differences(_ lines: [ComparisonPage.Line], after: UInt64 = 0) -> ComparisonPage {
    ComparisonPage(number: 3, same: 4, damaged: 1, all: lines, after: after)
  }

  private static func found(_ count: UInt64, _ text: String = "Mail") -> [FoundItemsPage.Line] {
    (0..<count).map { number in
      .init(
        uuid: [UInt8](repeating: 7, count: 16), isPresent: number == 0, item: number, collection: 1, home: text,
        label: text)
    }
  }

  init() throws { try Sodium.initialize() }

  static let answers: [PacketTests.Answered] = [
    .init(ListGenerations.self, list(0)), .init(ListGenerations.self, list(3, problem: .vault(.diskFull))),
    .init(MakeGeneration.self, MadeGeneration(number: .max, isNew: true)),
    .init(CompareGeneration.self, Done()), .init(RestoreFromGeneration.self, Done()),
    .init(GoThroughGeneration.self, GenerationProgress(hasMore: true, done: 5, total: .max)),
    .init(GetComparison.self, differences(differences)), .init(GetComparison.self, differences([])),
    .init(FindInGenerations.self, Done()), .init(ForgetEverywhere.self, Done()),
    .init(GetFoundItems.self, FoundItemsPage(all: found(2), after: 0)),
    .init(GetForgetting.self, Forgetting(changed: 3, unreadable: [7, 9])),
    .init(FinishRestore.self, ArchivePage(of: ArchivePacketTests.report, after: 0)),
  ]

  @Test(arguments: answers) func answersSurviveTheWay(_ answer: PacketTests.Answered) {
    #expect(answer.isRead(answer.packet))
  }

  @Test(arguments: answers) func truncatedAnswersAreNone(_ answer: PacketTests.Answered) {
    // A message without fields cannot be truncated.
    for count in 0..<answer.packet.count { #expect(!answer.isRead(Array(answer.packet.prefix(count)))) }
  }

  @Test func theBytesAreThoseOfTheFormat() {
    #expect(MakeGeneration.packet(answering: MadeGeneration(number: 2, isNew: true)) == [2, 36, 1, 2, 0, 0, 0])
    #expect(ListGenerations(below: 3).packet == [2, 35, 3, 0, 0, 0])
    #expect(CompareGeneration(number: 3).packet == [2, 37, 3, 0, 0, 0])
    let items = RestoreFromGeneration(number: 3, takesTheirs: true, isDry: false, selection: .items([7]))
    #expect(items.packet == [2, 38, 3, 0, 0, 0, 1, 3, 1, 0, 7, 0, 0, 0, 0, 0, 0, 0])
    let named = RestoreFromGeneration(number: 3, takesTheirs: false, isDry: true, selection: .attributes(["a": "b"]))
    #expect(named.packet == [2, 38, 3, 0, 0, 0, 2, 2, 1, 1, 0, 97, 1, 0, 98])
    let progress = GenerationProgress(hasMore: true, done: 1, total: 2)
    #expect(
      GoThroughGeneration.packet(answering: progress) == [2, 39, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0])
  }

  @Test(arguments: [
    GenerationSelection.everything, .collection("Wörk"), .attributes(["service": "mail", "user": ""]),
    .items((1...UInt64(GenerationSelection.itemLimit)).map { $0 }),
  ])
  func requestsAreReadAsTheyWereWritten(_ selection: GenerationSelection) {
    #expect(selection.fits)
    for (theirs, dry) in [(false, false), (true, false), (false, true)] {
      let message = RestoreFromGeneration(number: 9, takesTheirs: theirs, isDry: dry, selection: selection)
      #expect(message.packet.count <= ControlPacket.sizeLimit && Reading.message(message.packet) == message)
    }
  }

  @Test func theLargestRequestsFit() {
    let numbers = (1...UInt64(GenerationSelection.itemLimit)).map { $0 }
    let search = FindInGenerations(present: numbers, selection: .items(numbers))
    #expect(search.packet.count <= ControlPacket.sizeLimit && Reading.message(search.packet) == search)
    let all = ForgetEverywhere(items: numbers.map { [UInt8](repeating: UInt8($0 & 255), count: 16) })
    #expect(all.packet.count <= ControlPacket.sizeLimit && Reading.message(all.packet) == all)
  }

  @Test func longListsComeInPagesThatFit() throws {
    let page = Self.list(UInt32(GenerationPage.lineLimit) + 1, problem: .verbatim(Self.long))
    #expect(page.hasMore && page.lines.count == GenerationPage.lineLimit)
    let packet = ListGenerations.packet(answering: page)
    #expect(packet.count <= ControlPacket.sizeLimit)
    #expect(try #require(ListGenerations.read(packet)).lines.count == page.lines.count)
    let lines = (0..<95).map { number in
      ComparisonPage.Line(
        .deleted, item: UInt64(number), collection: 1, home: Self.long, label: Self.long, accessibility: nil,
        obstacle: .verbatim(Self.long))
    }
    let found = GetFoundItems.packet(answering: FoundItemsPage(all: Self.found(95, Self.long), after: 0))
    #expect(found.count <= ControlPacket.sizeLimit && GetFoundItems.read(found)?.hasMore == true)
    var known: [UInt64] = []
    repeat {
      let packet = GetComparison.packet(answering: Self.differences(lines, after: UInt64(known.count)))
      #expect(packet.count <= ControlPacket.sizeLimit)
      known += try #require(GetComparison.read(packet)).lines.map(\.item)
    } while known.count < 95
    #expect(known == (0..<95).map { UInt64($0) })
    #expect(!Self.differences(lines, after: 94).hasMore && Self.differences(lines, after: .max).lines.isEmpty)
  }

  @Test(arguments: [
    [2, 35], [2, 35, 0, 0, 0], [2, 36, 0], [2, 37, 0, 0, 0], [2, 38, 1, 0, 0, 0, 4, 0], [2, 38, 1, 0, 0, 0, 0, 4],
    [2, 38, 1, 0, 0, 0, 0, 2, 0], [2, 38, 1, 0, 0, 0, 0, 3, 0, 0], [2, 38, 1, 0, 0, 0, 0, 3, 1, 0, 7],
    [2, 38, 1, 0, 0, 0, 0, 2, 2, 1, 0, 97, 0, 0, 1, 0, 97, 0, 0],
    [2, 38, 1, 0, 0, 0, 0, 3, 0xD1, 7] + [UInt8](repeating: 0, count: 8 * 2001), [2, 39, 0], [2, 40], [2, 41, 0],
    [2, 42, 0, 0], [2, 42, 1, 0, 0, 0], [2, 43], [2, 44], [2, 44] + [UInt8](repeating: 0, count: 17), [2, 45, 0],
  ])
  func otherRequestsAreMalformed(_ bytes: [UInt8]) { #expect(!Reading.isMessage(bytes)) }
}
