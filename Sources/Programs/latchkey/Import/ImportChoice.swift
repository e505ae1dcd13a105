import ArgumentParser
import Glibc
import LatchkeyForeignKeyrings
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySodium

/// The options of every import.
struct ImportChoice: ParsableArguments {
  /// Which secret stays if two items have the same attributes.
  enum Preference: String, ExpressibleByArgument, CaseIterable {
    case here, there, newer
  }

  @OptionGroup var place: DaemonPlace
  @OptionGroup var prompts: PromptChoice
  @OptionGroup var rules: RulesPlace
  @Flag(help: .translated("Say what would be imported and what would stay behind, and change nothing.")) var dryRun =
    false
  @Option(
    help: .translated(
      """
      Which secret and label to keep if an item has the same attributes at both places and another secret or label: \
      the vault's (here), the imported ones (there), or those that were changed last (newer), unless both were \
      changed since an import. Without this option, an item that was changed there later replaces the vault's item if \
      that one was not changed since its import.
      """))
  var prefer: Preference?
  @Option(
    help: ArgumentHelp(
      translated("Only this collection of the old place, by its label or name. May be repeated."), valueName: "name"))
  var collection: [String] = []
  @Option(
    help: ArgumentHelp(
      translated("Put everything into this collection, which is made if it does not exist."), valueName: "name")
  )
  var into: String?
  @Option(
    help: ArgumentHelp(
      translated("Only items that were changed on this day (in UTC) or later, as far as the old place knows."),
      valueName: "yyyy-mm-dd"))
  var since: String?
  @Flag(help: .translated("Report as JSON, with the same keys in every version.")) var json = false

  func validate() throws {
    guard let since else { return }
    guard CalendarTime.seconds(since) != nil else {
      throw ValidationError(translated("--since takes a day, such as 2026-11-22."))
    }
  }

  /// Whether the person may be asked.
  var isAsking: Bool { !prompts.isForbidden }

  /// Prepares the process for secrets, which are in it for a moment.
  func prepare() throws {
    try LatchkeyPosix.Process.forbidInspection()
    try Sodium.initialize()
  }

  /// - Parameters:
  ///   - kind: the name of the command, with names that distinguish several programs.
  ///   - paths: the files and folders that the person gave; empty for the program's own folder.
  func importer(into vault: VaultConnection, from kind: String, _ paths: [String] = []) throws -> Importer {
    // Checked before anybody is asked for a password.
    if let status = try? place.status(), place.lacksVault(status) || dryRun && place.awaitsDatabase(status) {
      throw Failure.declined(SessionQuestions.lackOfVault)
    }
    let source = ([kind] + paths.map(Self.realPath).sorted()).joined(separator: " ")
    return try Importer(vault, rules: try rules.files(), choice: self, source: source)
  }

  private static func realPath(_ path: String) -> String {
    guard let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
  }

  /// Refuses a chosen collection if no collection has that name.
  func checkNames(among collections: [ForeignCollection]) throws {
    guard !collection.isEmpty, !collections.contains(where: takes) else { return }
    let names = collections.map { $0.label.isEmpty ? $0.name : $0.label }.joined(separator: ", ")
    throw Failure.file(translated("none of the collections has that name. There are: \(names). Nothing was imported."))
  }

  /// Whether a collection was chosen.
  func takes(_ collection: ForeignCollection) -> Bool {
    self.collection.isEmpty || self.collection.contains { $0 == collection.label || $0 == collection.name }
  }

  /// Whether an item was chosen.
  func takes(_ item: ForeignItem) -> Bool {
    guard let first = since.flatMap(CalendarTime.seconds) else { return true }
    return item.modified == 0 || item.modified >= first
  }
}
