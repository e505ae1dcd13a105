import ArgumentParser
import LatchkeyBackup
import LatchkeyBackupControl
import LatchkeyControl
import LatchkeyGettext
import LatchkeyHistoryControl
import LatchkeyPosix

/// `latchkey history restore`
struct HistoryRestoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: translated("Bring items back from a generation: some, a collection, or everything."),
    discussion: translated(
      """
      The vault must be unlocked. Name the items by attributes that they had, or by their places, as 'latchkey \
      history diff' lists them; all items with these attributes come back. An item that was changed since then stays \
      as it is, and is listed; --theirs restores its former state. An item that now requires more than an unlocked \
      session is never replaced. Nothing is deleted. A collection that was deleted comes back with its items. Its \
      keys need your login password, which 'latchkey unlock' asks for first.
      Exit status 4: the restore was done, but something stays behind, or differs.

      Examples:
        latchkey history restore 12 service=mail user=me
        latchkey history restore 12 login/5 login/7
        latchkey history restore 12 --collection Work --dry-run
        latchkey history restore 12 --everything --theirs
      """))

  @OptionGroup var place: DaemonPlace
  @Option(
    help: ArgumentHelp(translated("All items of this collection, by its label or name."), valueName: "name"))
  var collection: String?
  @Flag(help: .translated("All items that the generation has.")) var everything = false
  @Flag(help: .translated("Take the generation's secret, label and attributes for an item that was changed since."))
  var theirs = false
  @Flag(help: .translated("Say what would come back and what would not, and change nothing.")) var dryRun = false
  @Flag(help: .translated("Report as JSON, with the same keys in every version.")) var json = false
  @Argument(help: .translated("The number of the generation, as 'latchkey history' lists it.")) var number: UInt32
  @Argument(help: ItemSelector.help) var items: [String] = []

  func validate() throws {
    guard number > 0 else { throw ValidationError(translated("Generations are numbered from 1.")) }
    guard [!items.isEmpty, collection != nil, everything].count(where: { $0 }) == 1 else {
      throw ValidationError(translated("Name what to bring back: items, --collection, or --everything."))
    }
    guard try selection().fits else {
      throw ValidationError(translated("That is too much to name at once. Use --collection or --everything."))
    }
  }

  private func selection() throws -> GenerationSelection {
    if let collection { return .collection(collection) }
    if everything { return .everything }
    return try ItemSelector(items).selection
  }

  func run() throws {
    let report = try Failure.history { try bringBack() }
    print(
      json
        ? try report.json(generation: number, isDry: dryRun)
        : report.restoreText(from: translated("generation \(number)"), isDry: dryRun))
    let isShort = try lacks(report)
    if isShort || report.left > 0 || report.conflicts > 0 || (report.items == 0 && !everything) { throw ExitCode(4) }
  }

  /// Whether the generation lacks an item that was named. The command says so.
  private func lacks(_ report: ArchiveReport) throws -> Bool {
    guard case .items(let numbers) = try selection(), Set(numbers).count > report.items else { return false }
    StandardStream.error.show(
      translated(
        "latchkey: of the items that you named (\(Set(numbers).count)), generation \(number) has only \(report.items) that can be read now. 'latchkey history diff \(number)' lists what differs."
      ) + "\n")
    return true
  }

  private func bringBack() throws -> ArchiveReport {
    let client = try place.connect()
    try client.ask(
      RestoreFromGeneration(number: number, takesTheirs: theirs, isDry: dryRun, selection: try selection()),
      until: LatchkeyPosix.Process.now + HistoryLimits.answer)
    try client.goThroughGeneration()
    let report = try client.finishRestore(until: LatchkeyPosix.Process.now + HistoryLimits.writing)
    // A report without items may have lines about collections that wait for the password.
    guard report.items > 0 || everything || !report.lines.isEmpty else {
      throw Failure.noItem(
        collection == nil
          ? translated(
            "generation \(number) has no such item, or it cannot be read now. 'latchkey history diff \(number)' lists what differs."
          )
          : translated(
            "generation \(number) has no item in a collection of that name. 'latchkey history diff \(number)' lists what differs."
          )
      )
    }
    return report
  }
}
