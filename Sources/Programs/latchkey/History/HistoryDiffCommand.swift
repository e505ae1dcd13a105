import ArgumentParser
import LatchkeyControl
import LatchkeyGettext
import LatchkeyHistoryControl
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons

/// `latchkey history diff`
struct HistoryDiffCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: translated("List the items that differ between the vault and a generation."),
    discussion: translated(
      """
      Without a number it compares with the newest generation. It lists the items that were deleted, changed and stored since. \
      It never prints a secret, and changes nothing.

      Examples:
        latchkey history diff
        latchkey history diff 12 --json
      """))

  @OptionGroup var place: DaemonPlace
  @Flag(help: .translated("As JSON, with the same keys in every version.")) var json = false
  @Argument(help: .translated("The number of the generation, as 'latchkey history' lists it.")) var number: UInt32?

  func validate() throws {
    if number == 0 { throw ValidationError(translated("Generations are numbered from 1.")) }
  }

  func run() throws {
    let found = try Failure.history {
      let client = try place.connect()
      try client.ask(CompareGeneration(number: number ?? 0), until: LatchkeyPosix.Process.now + HistoryLimits.answer)
      try client.goThroughGeneration()
      return try client.comparison(until: LatchkeyPosix.Process.now + HistoryLimits.answer)
    }
    print(json ? try JSONText.of(ListedDifferences(found)) : ListedDifferences(found).text)
  }
}

/// The differences, for a person and as JSON.
struct ListedDifferences: Encodable {
  struct Item: Encodable {
    let change: String
    let path: String
    let collection: String
    let label: String?
    let `class`: String?
    let reason: Reason?

    private enum CodingKeys: String, CodingKey { case change, path, collection, label, `class`, reason, code }

    init(_ line: ComparisonPage.Line) {
      change = "\(line.change)"
      path = ListedCollection.place(ofItem: line.item, in: line.collection)
      collection = line.home
      label = line.label.isEmpty ? nil : line.label
      `class` = line.accessibility?.name
      reason = line.obstacle
    }

    /// Every item has the same keys in JSON.
    func encode(to encoder: any Encoder) throws {
      var out = encoder.container(keyedBy: CodingKeys.self)
      try out.encode(change, forKey: .change)
      try out.encode(path, forKey: .path)
      try out.encode(collection, forKey: .collection)
      try out.encode(label, forKey: .label)
      try out.encode(`class`, forKey: .class)
      try out.encode(reason?.text, forKey: .reason)
      try out.encode(reason.map(ReasonCode.init), forKey: .code)
    }

    fileprivate var text: String {
      var text =
        "  \(path)  \(collection.isEmpty ? "?" : collection) / \(label ?? translated("(no label, or it cannot be read now)"))"
      if let kind = `class` { text += " (\(kind))" }
      if let reason { text += translated("; it cannot be brought back: \(reason.told)") }
      return text
    }
  }

  let generation: UInt32
  let same: UInt64
  let damaged: UInt64
  let items: [Item]

  init(_ page: ComparisonPage) {
    (generation, same, damaged) = (page.number, page.same, page.damaged)
    items = page.lines.map(Item.init)
  }

  var text: String {
    var lines: [String] = []
    for (change, title) in [
      ("deleted", translated("Deleted since generation \(generation):")),
      ("changed", translated("Changed since generation \(generation):")),
      ("new", translated("Not in generation \(generation):")),
    ] {
      let found = items.filter { $0.change == change }
      if !found.isEmpty { lines += [title] + found.map(\.text) }
    }
    lines.append(
      translated(
        same, one: "\(same) item is the same in generation \(generation).",
        other: "\(same) items are the same in generation \(generation)."))
    if damaged > 0 {
      lines.append(
        translated(
          "Items that are damaged in the generation, so not compared: \(damaged). An older generation may have them."))
    }
    return lines.map(TerminalText.printable).joined(separator: "\n")
  }
}
