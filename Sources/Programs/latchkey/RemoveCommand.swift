import ArgumentParser
import LatchkeySecretClient
import LatchkeySystemd

/// `latchkey rm`
struct RemoveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm", abstract: "Delete items. A deleted item cannot be brought back.",
    discussion: """
      If an item is locked, you are asked to unlock it first. Attributes must name one item unless you give --all. Several \
      items can be named by their places.

      Examples:
        latchkey rm service=mail user=me
        latchkey rm login/5 login/7
        latchkey rm --all --dry-run service=mail
      """)

  @OptionGroup var place: Place
  @OptionGroup var prompts: PromptChoice
  @Flag(help: "Delete every item that has these attributes.") var all = false
  @Flag(name: [.long, .customShort("n")], help: "Say what would be deleted, and delete nothing.") var dryRun = false
  @Flag(help: "Report as JSON, with the same keys in every version.") var json = false
  @Argument(help: ItemSelector.help) var items: [String]

  func validate() throws { _ = try ItemSelector(items) }

  private struct Report: Encodable {
    let dry_run: Bool
    let removed: [ListedItem]
  }

  func run() throws {
    try Failure.telling {
      let connection = try VaultConnection(place)
      let selector = try ItemSelector(items)
      let found = try selector.items(from: connection)
      if found.isEmpty { throw ItemSelector.nothing }
      if case .attributes = selector, found.count > 1 && !all {
        throw ItemSelector.several(found, advice: "Nothing was deleted. Name one by where it is, or use --all.")
      }
      // Told before it goes: afterwards nobody knows its class.
      let told = json ? try ListedItem.described(found, from: connection) : found
      if !json && dryRun { return print(found.map { "Would delete " + $0.title }.joined(separator: "\n")) }
      let gone = dryRun ? told : try told.filter { try delete($0, on: connection) }
      if json { print(try JSONText.of(Report(dry_run: dryRun, removed: gone))) }
    }
  }

  /// Whether the item was still there.
  private func delete(_ item: ListedItem, on connection: VaultConnection) throws -> Bool {
    do {
      try connection.opening(item.path, asking: !prompts.isForbidden) {
        try connection.call(item.path, VaultConnection.item, "Delete", read: { _ in })
      }
    } catch let error as BusError where error.isNoSuchObject { return false }
    if !json { print("Deleted " + item.title) }
    return true
  }
}
