import LatchkeyBytes
import LatchkeyText
import Testing

@testable import LatchkeyReasons

@Suite("Reasons are sent as codes")
struct ReasonTests {
  /// One reason of each kind with values.
  private static let samples: [Reason] = [
    .never(service: "one"), .sessionOfClass("one"), .sessionOfType("one"), .folderIs("one"),
    .generationsOff(settings: "one"), .ambiguous(count: 3, names: "one"), .fixedAlias("one"),
    .onlySetAccess(of: "one"), .noFingerOpensIt(.vault(.locked)), .noFingerOpens("one", .vault(.locked)),
    .fingersUntold("one"), .slowLookup(user: 6), .noAccount(user: 6), .stateDamaged(file: "one"),
    .stateUnreadable(file: "one", .vault(.locked)), .stateNewer(file: "one", format: 6),
    .stateNotWritten(file: "one", .vault(.locked)), .stateNotErased(file: "one", .vault(.locked)),
    .tpmFailed(.vault(.locked), code: "one"), .newerFormat(5), .unknownFormat(5), .copyTookPlace(.vault(.locked)),
    .itIs(now: "one"), .slowPassword(seconds: 6), .accessibleMustBe(oneOf: "one"), .noSuchRequirement("one"),
    .notCreatedForRoom(mebibytes: 3), .lacksRoom(mebibytes: 3), .foreignItem(5), .sqlite("one"),
    .doesNotOpen(.vault(.locked)), .rowDamaged(table: "one"), .itemDamaged(5), .itemIndexDamaged(5),
    .itemAccessDamaged(5), .itemWithoutKey(5), .itemWithoutCollection(5), .nextUnlockHeals(from: 6),
    .tooLargeToHeal(mebibytes: 3), .newerItems(3), .olderItems(.vault(.locked)), .deletedItems(.vault(.locked)),
    .deletedCollections(.vault(.locked)), .lostItems(.vault(.locked)), .damagedFile("one"), .noGeneration(6),
    .generationUnreadable(6, .vault(.locked)), .generationItemDamaged(5), .generationStays("one"),
    .collectionLimit(3), .isOfClass("one"), .noKeyForClass("one"), .newerBackup(format: 6),
    .damagedWithin(bytes: 3), .damagedChunk(3), .unknownKey("one"), .ruleLacks("one"),
    .unknownClass("one", known: "two"), .notAttribute("one"), .noPattern("one"), .largerThan(kibibytes: 3),
    .fileLargerThan(kibibytes: 3), .unreadableFile("one"), .outOfRange(3, 4), .givenTwice("one"), .notUTF8("one"),
    .rulesStay(.vault(.locked), .rules(.notYAML)), .settingsStay(.vault(.locked)), .andMore(3), .verbatim("one"),
    .because(.subject(.keybag), .keybag(.missing)), .both(.vault(.locked), .verbatim("two")), .numbers(1, "7"),
    .numbers(2, "7, 8"), .healed(.missing, from: 0), .healed(.foreign, from: 9), .hasItems(1), .hasItems(2),
  ]

  private static func travelled(_ reason: Reason) -> Reason? { Reason(encoded: reason.encoded()) }

  @Test("Each reason with values arrives with the values, and its sentence names them", arguments: samples)
  func values(reason: Reason) {
    #expect(Self.travelled(reason) == reason)
    for value in reason.coded.values {
      switch value {
      case .number(let number): #expect(number == 0 || reason.text.contains("\(number)"))
      case .text(let text): #expect(reason.text.contains(text) || reason.coded.code == "vault.healed")
      case .reason(let part): #expect(reason.text.contains(Reason(part)?.text ?? "?"))
      }
    }
  }

  @Test("Each reason without values arrives, and no two are equal")
  func plain() {
    var codes: Set<String> = []
    func check<Group: ReasonGroup>(_ group: Group.Type, _ reason: (Group) -> Reason) {
      for one in Group.allCases {
        #expect(Self.travelled(reason(one)) == reason(one) && !reason(one).text.isEmpty)
        #expect(codes.insert(reason(one).coded.code).inserted)
      }
    }
    check(SubjectReason.self, Reason.subject)
    check(SessionReason.self, Reason.session)
    check(RefusalReason.self, Reason.refusal)
    check(ServiceReason.self, Reason.service)
    check(FingerReason.self, Reason.finger)
    check(DeviceReason.self, Reason.device)
    check(KeybagReason.self, Reason.keybag)
    check(VaultReason.self, Reason.vault)
    check(ItemReason.self, Reason.item)
    check(BackupReason.self, Reason.backup)
    check(RulesReason.self, Reason.rules)
    #expect(codes.isDisjoint(with: Self.samples.map(\.coded.code)))
    #expect(codes.count > 300)
  }

  @Test("An unknown code is shown unchanged, and other bytes are no reason")
  func unknown() {
    var later = ByteWriter()
    later.text("vault.later")
    later.number(UInt8(0))
    #expect(Self.told(later.bytes) == .verbatim("vault.later") && Reason(encoded: later.bytes) == nil)
    var within = ByteWriter()
    within.text("both")
    within.number(UInt8(2))
    for part in [later.bytes, Reason.service(.seeStatus).encoded()] {
      within.number(UInt8(2))
      within.put(part)
    }
    #expect(Self.told(within.bytes) == .both(.verbatim("vault.later"), .service(.seeStatus)))
    let whole = Reason.of(.database, .itemDamaged(7)).encoded()
    for size in 0..<whole.count { #expect(Reason(encoded: Array(whole.prefix(size))) == nil) }
  }

  @Test("Parts nested deeper than any sentence are left out, and the rest stays readable")
  func depth() {
    let deep = (0..<20).reduce(Reason.vault(.locked)) { inner, _ in .noFingerOpensIt(inner) }
    #expect(Reason(encoded: deep.encoded())?.text.hasSuffix("…") == true)
  }

  @Test("A number from a damaged file may be negative")
  func negative() { #expect(Self.travelled(.itemDamaged(-3)) == .itemDamaged(-3)) }

  @Test("A long reason is cut at its end, but never inside a number", arguments: [120, 255, 400, 1024])
  func long(limit: Int) throws {
    let numbers = Reason.numbers(20, (101...120).map { "\($0)" }.joined(separator: ", "))
    let parts: [Reason] = [
      .newerItems(4), .olderItems(numbers), .deletedItems(numbers), .deletedCollections(numbers), .lostItems(numbers),
      .vault(.mayMissItems), .damagedFile("/home/anna/.local/share/latchkey/vault.db.damaged-20260714T101530"),
    ]
    let whole = parts.reduce(Reason.healed(.damaged, from: 7)) { .both($0, $1) }
    var out = ByteWriter()
    whole.encode(into: &out, limit: limit)
    let told = try #require(Self.told(out.bytes))
    #expect(out.bytes.count <= limit && told.isRepair && told.contains(.newerItems(4)))
    #expect(told == whole || told.text.contains("…"))
    for word in told.text.split(whereSeparator: { !$0.isASCII || !$0.isNumber }) where word.count < 3 {
      #expect(["4", "7", "20"].contains(String(word)))
    }
  }

  private static func told(_ bytes: [UInt8]) -> Reason? {
    var input = ByteReader(bytes)
    return Reason(decoding: &input)
  }

  @Test("A reason fits, however long its texts are", arguments: [60, 255, 400, 1024])
  func limits(limit: Int) {
    let long = String(repeating: "ä", count: 5000)
    for reason: Reason in [.verbatim(long), .both(.folderIs(long), .ambiguous(count: 3, names: long))] {
      var out = ByteWriter()
      reason.encode(into: &out, limit: limit)
      #expect(out.bytes.count <= limit && Self.told(out.bytes)?.text.contains("…") == true)
    }
  }

  @Test("A program can read a reason's subject, and whether it is a repair, without its words")
  func subjects() {
    let healed = Reason.both(.both(.healed(.damaged, from: 3), .newerItems(2)), .damagedFile("x"))
    #expect(healed.isRepair && healed.subject == nil && healed.contains(.newerItems(2)))
    #expect(Reason.both(.of(.keybag, .copyTookPlace(.keybag(.missing))), .itIs(now: "y")).isRepair)
    let late = Reason.both(.of(.deviceService, .device(.brokenOff)), .device(.generationUnknown))
    #expect(late.subject == .deviceService && late.contains(.device(.brokenOff)) && !late.isRepair)
    #expect(!Reason.of(.keybag, .keybag(.missing)).isRepair)
  }
}
