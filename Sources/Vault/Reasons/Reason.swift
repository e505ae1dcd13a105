import LatchkeyText

/// The reason why something is refused, wrong, locked or left out: a code with its values. It travels to other programs as
/// ``CodedReason``, and the program that shows it writes the sentence, in the person's language. Logs have ``text``.
///
/// No case carries a secret, a label or an attribute.
public indirect enum Reason: Hashable, Sendable {
  case subject(SubjectReason)
  case session(SessionReason)
  case refusal(RefusalReason)
  case service(ServiceReason)
  case finger(FingerReason)
  case device(DeviceReason)
  case keybag(KeybagReason)
  case vault(VaultReason)
  case item(ItemReason)
  case backup(BackupReason)
  case rules(RulesReason)
  /// Words of the operating system, of a library or of a file: the same in every language.
  case verbatim(String)
  /// A subject or an event, and why.
  case because(Reason, Reason)
  /// Two reasons, in two sentences.
  case both(Reason, Reason)
  /// How many numbers there are, and some of them.
  case numbers(_ count: Int, _ shown: String)
  /// The database was made again from a generation; the number is 0 if it is not known.
  case healed(Loss, from: UInt32)
  /// The number of items in a collection.
  case hasItems(Int)
  case never(service: String)
  case sessionOfClass(_ name: String)
  case sessionOfType(_ name: String)
  case folderIs(_ path: String)
  case generationsOff(settings: String)
  case ambiguous(count: Int, names: String)
  case fixedAlias(_ name: String)
  case onlySetAccess(of: String)
  case noFingerOpensIt(_ why: Reason)
  case noFingerOpens(_ item: String, _ why: Reason)
  case fingersUntold(_ error: String)
  case slowLookup(user: UInt32)
  case noAccount(user: UInt32)
  case stateDamaged(file: String)
  case stateUnreadable(file: String, _ why: Reason)
  case stateNewer(file: String, format: UInt32)
  case stateNotWritten(file: String, _ why: Reason)
  case stateNotErased(file: String, _ why: Reason)
  case tpmFailed(_ step: Reason, code: String)
  case newerFormat(_ version: Int64)
  case unknownFormat(_ version: Int64)
  case copyTookPlace(_ loss: Reason)
  case itIs(now: String)
  case slowPassword(seconds: UInt32)
  case accessibleMustBe(oneOf: String)
  case noSuchRequirement(_ name: String)
  case notCreatedForRoom(mebibytes: Int)
  case lacksRoom(mebibytes: Int)
  case foreignItem(_ id: Int64)
  case sqlite(_ message: String)
  case doesNotOpen(_ what: Reason)
  case rowDamaged(table: String)
  case itemDamaged(_ id: Int64)
  case itemIndexDamaged(_ id: Int64)
  case itemAccessDamaged(_ id: Int64)
  case itemWithoutKey(_ id: Int64)
  case itemWithoutCollection(_ id: Int64)
  case nextUnlockHeals(from: UInt32)
  case tooLargeToHeal(mebibytes: Int)
  case newerItems(_ count: Int)
  case olderItems(_ list: Reason)
  case deletedItems(_ list: Reason)
  case deletedCollections(_ list: Reason)
  case lostItems(_ list: Reason)
  case damagedFile(_ name: String)
  case noGeneration(_ number: UInt32)
  case generationUnreadable(_ number: UInt32, _ why: Reason)
  case generationItemDamaged(_ id: Int64)
  case generationStays(_ name: String)
  case collectionLimit(_ count: Int)
  case isOfClass(_ name: String)
  case noKeyForClass(_ name: String)
  case newerBackup(format: UInt32)
  case damagedWithin(bytes: Int)
  case damagedChunk(_ number: Int)
  case unknownKey(_ key: String)
  case ruleLacks(_ key: String)
  case unknownClass(_ name: String, known: String)
  case notAttribute(_ name: String)
  case noPattern(_ name: String)
  case largerThan(kibibytes: Int)
  case fileLargerThan(kibibytes: Int)
  case unreadableFile(_ error: String)
  case outOfRange(_ from: Int, _ to: Int)
  case givenTwice(_ key: String)
  case notUTF8(_ problem: String)
  case rulesStay(_ error: Reason, _ rest: Reason)
  case settingsStay(_ error: Reason)
  case andMore(_ count: Int)

  /// The damage of a database that was made again.
  public enum Loss: String, Sendable {
    case missing, damaged, foreign
  }

  /// The sentence in English.
  public var text: String { phrase.text }

  /// "SUBJECT: why".
  public static func of(_ subject: SubjectReason, _ why: Reason) -> Reason { .because(.subject(subject), why) }

  /// Whether the reason says that something was repaired, and not that something is wrong.
  public var isRepair: Bool {
    switch self {
    case .healed, .copyTookPlace: true
    case .both(let first, _), .because(.subject(.keybag), let first): first.isRepair
    default: false
    }
  }

  /// The subject of a reason of the form "FILE: what is wrong".
  public var subject: SubjectReason? {
    switch self {
    case .because(.subject(let subject), _): subject
    case .both(let first, _): first.subject
    default: nil
    }
  }

  /// This reason and its parts.
  public var all: [Reason] {
    let parts = coded.values.compactMap { if case .reason(let part) = $0 { Reason(part) } else { nil } }
    return [self] + parts.flatMap(\.all)
  }

  /// Whether this reason or a part of it is `reason`.
  public func contains(_ reason: Reason) -> Bool { all.contains(reason) }
}
