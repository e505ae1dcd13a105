import ArgumentParser
import LatchkeyGettext
import LatchkeyHistoryControl
import LatchkeySecretClient
import LatchkeySystemd

/// `latchkey rm`
struct RemoveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm", abstract: translated("Delete items."),
    discussion: translated(
      """
      If an item is locked, you are asked to unlock it first. Attributes must name one item unless you give --all. \
      Several items can be named by their places.
      The generations of the vault keep a deleted item for 31 days or as the settings say, so 'latchkey history \
      restore' can bring it back. An item that was stored less than an hour before its deletion may be in no \
      generation. With --everywhere the item is removed from all generations too, and nothing brings it back. This \
      also works for items that were deleted before. Exit status 4: a generation cannot be read, and may still have \
      the item.

      Examples:
        latchkey rm service=mail user=me
        latchkey rm login/5 login/7
        latchkey rm --all --dry-run service=mail
        latchkey rm --everywhere service=mail user=me
      """))

  @OptionGroup var place: DaemonPlace
  @OptionGroup var prompts: PromptChoice
  @Flag(help: .translated("Delete every item that has these attributes.")) var all = false
  @Flag(
    help: .translated("Remove the items from all generations of the vault too, even items that only generations have."))
  var everywhere = false
  @Flag(name: [.long, .customShort("n")], help: .translated("Say what would be deleted, and delete nothing."))
  var dryRun = false
  @Flag(help: .translated("Report as JSON, with the same keys in every version.")) var json = false
  @Argument(help: ItemSelector.help) var items: [String]

  func validate() throws { _ = try ItemSelector(items) }

  private struct Report: Encodable {
    let dry_run: Bool
    let removed: [ListedItem]
    /// Without --everywhere, generations are not mentioned.
    let generations: Generations

    struct Generations: Encodable {
      let items: Int
      let changed: UInt32
      let unreadable: [UInt32]
    }
  }

  func run() throws {
    try Failure.telling {
      let connection = try VaultConnection(place)
      try unlock(connection)
      let selector = try ItemSelector(items)
      let found = try everywhere ? selector.presentItems(from: connection) : selector.items(from: connection)
      let past = try everywhere ? PastItems(selector, present: found, place) : nil
      let pastTitles = past?.titles ?? []
      if found.isEmpty && pastTitles.isEmpty { throw ItemSelector.nothing }
      if case .attributes = selector, found.count + pastTitles.count > 1 && !all {
        throw ItemSelector.several(
          found.map(\.title) + pastTitles,
          advice: translated("Nothing was deleted. Name one item by its place, or use --all."))
      }
      // The item is described before it is deleted, because its class is unknown afterwards.
      let told = json ? try ListedItem.described(found, from: connection) : found
      if !json && dryRun {
        return print((found.map(\.title) + pastTitles).map { translated("Would delete \($0)") }.joined(separator: "\n"))
      }
      let gone = dryRun ? told : try told.filter { try delete($0, on: connection) }
      let forgotten = try dryRun ? nil : past?.forget()
      if json {
        let generations = Report.Generations(
          items: pastTitles.count, changed: forgotten?.changed ?? 0, unreadable: forgotten?.unreadable ?? [])
        print(try JSONText.of(Report(dry_run: dryRun, removed: gone, generations: generations)))
      }
      if let forgotten { try tell(forgotten, pastTitles) }
    }
  }

  /// All keys of the vault are needed to read generations, so a person is asked first.
  private func unlock(_ connection: VaultConnection) throws {
    guard everywhere, !prompts.isForbidden, try place.status().state != .unlocked else { return }
    try connection.unlock(ServiceConnection.defaultCollection)
  }

  private func tell(_ forgotten: Forgetting, _ titles: [String]) throws {
    if !json {
      for title in titles { print(translated("Deleted \(title)")) }
      let count = forgotten.changed
      print(
        count == 0
          ? translated("No generation that can be read had these items.")
          : translated(count, one: "Removed from \(count) generation.", other: "Removed from \(count) generations."))
    }
    guard !forgotten.unreadable.isEmpty else { return }
    let numbers = forgotten.unreadable.map { String($0) }.joined(separator: ", ")
    StandardStream.error.show(
      translated(
        """
        latchkey: generations that cannot be read may still have them: \(numbers).
        Delete the files that begin with such a number in ~/.local/share/latchkey/generations.

        """))
    throw ExitCode(4)
  }

  /// Whether the item still existed.
  private func delete(_ item: ListedItem, on connection: VaultConnection) throws -> Bool {
    do {
      try connection.opening(item.path, asking: !prompts.isForbidden) {
        try connection.call(item.path, VaultConnection.item, "Delete", read: { _ in })
      }
    } catch let error as BusError where error.isNoSuchObject { return false }
    if !json { print(translated("Deleted \(item.title)")) }
    return true
  }
}
