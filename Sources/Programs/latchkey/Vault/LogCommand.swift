import ArgumentParser
import Glibc
import LatchkeyAccessEvent
import LatchkeyControl
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeyLogControl
import LatchkeyPosix

/// `latchkey log`
struct LogCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log",
    abstract: translated("Print the access log of items that require more than an unlocked session."),
    discussion: translated(
      """
      Oldest first. One line each time that a program asked for such an item: when, which item, the outcome, and which \
      program, as far as it is known. The log keeps the newest 1,000 entries, at most 256 KiB. The vault must be \
      unlocked.

      Examples:
        latchkey log -n 20
        latchkey log --json
        latchkey log --clear
      """))

  @OptionGroup var place: DaemonPlace
  @Flag(help: .translated("As JSON, with the same keys in every version."))
  var json = false
  @Flag(help: .translated("Clear the log. The clearing itself is logged."))
  var clear = false
  @Option(
    name: .customShort("n"),
    help: ArgumentHelp(translated("Print only this many entries, the newest ones."), valueName: "number"))
  var limit: Int?

  func validate() throws {
    guard limit ?? 1 > 0 else { throw ValidationError(translated("-n takes a number of 1 or more.")) }
    guard !clear || (limit == nil && !json) else {
      throw ValidationError(translated("--clear cannot be combined with other options."))
    }
  }

  func run() throws {
    try Failure.telling {
      let deadline = LatchkeyPosix.Process.now + StatusCommand.answerLimit
      do {
        if clear {
          let count = try place.connect().ask(ClearAccessLog(), until: deadline)
          return print(translated(count, one: "Removed 1 entry.", other: "Removed \(count) entries."))
        }
        let lines = try place.connect().accessLog(limit: limit ?? .max, until: deadline).reversed()
        if json {
          print(try JSONText.of(lines.map(LoggedAccess.init)))
        } else if !lines.isEmpty {
          print(LoggedAccess.table(lines.map(LoggedAccess.init)).joined(separator: "\n"))
        }
      } catch ControlError.declined(let why) { throw Failure.declined(why.told + ".") }
    }
  }
}

/// An entry of the access log, for a person and as JSON.
struct LoggedAccess: Encodable {
  let line: AccessLogEntry

  /// The item's place, in the words of the command line; nil without an item.
  private var item: String? {
    guard let event = line.event, event.action != .log, event.item > 0, event.collection > 0 else { return nil }
    return ListedCollection.place(ofItem: event.item, in: event.collection)
  }

  private enum CodingKeys: String, CodingKey {
    case number, time, action, outcome, count, item, label, program, state, missing
  }

  /// Every entry has the same keys in JSON.
  func encode(to encoder: any Encoder) throws {
    var out = encoder.container(keyedBy: CodingKeys.self)
    try out.encode(line.number, forKey: .number)
    try out.encode(line.created, forKey: .time)
    try out.encode(line.event.map { "\($0.action)" }, forKey: .action)
    try out.encode(line.event.map { Self.word($0.outcome) }, forKey: .outcome)
    try out.encode(line.event?.count ?? 0, forKey: .count)
    try out.encode(item, forKey: .item)
    try out.encode(line.event?.label, forKey: .label)
    try out.encode(line.event?.caller, forKey: .program)
    try out.encode(line.event == nil ? "damaged" : "whole", forKey: .state)
    try out.encode(line.missing, forKey: .missing)
  }

  private static func word(_ outcome: AccessEvent.Outcome) -> String {
    if case .ended(let end) = outcome { "\(end)" } else { "\(outcome)" }
  }

  /// The outcome, in words.
  private var outcome: String {
    guard let event = line.event else { return translated("this entry is damaged, or was altered") }
    return switch (event.outcome, event.action) {
    case (.ended(.granted), .store): translated("a passphrase was chosen")
    case (.ended(.granted), _): translated("allowed")
    case (.used, _): translated("used")
    case (.ended(.refused), _): translated("refused: wrong answers")
    case (.ended(.dismissed), _): translated("refused by you")
    case (.ended(.unavailable), _): translated("refused: nobody could be asked")
    case (.ended(.locked), _): translated("refused: the vault was locked meanwhile")
    case (.ended(.outdated), _): translated("refused: the item was changed or deleted meanwhile")
    case (.ended(.withdrawn), _): translated("withdrawn: the answer was no longer needed")
    case (.ended(.expired), _): translated("refused: nobody answered in time")
    case (.ended(.broken), _): translated("refused: the program that asked you ended")
    case (.ended(.fingers), _):
      translated("refused: other fingers are enrolled than the item requires, or they are not known")
    case (.lost, _): translated("entries that could not be written: \(event.count)")
    case (.cleared, _): translated("the log was cleared, entries: \(event.count)")
    }
  }

  private var subject: String {
    guard let event = line.event, event.action != .log else { return "" }
    // Another program chose this text. Nothing in it may look like the next column, or control the terminal.
    let label = Self.plain(event.label)
    let name = label.isEmpty ? translated("(label not kept)") : "\"\(label)\""
    return item.map { "\($0) \(name)" } ?? translated("(new) \(name)")
  }

  private static func plain(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars.prefix(80) {
      switch scalar.properties.generalCategory {
      case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
        result.append("?")
      default: result.unicodeScalars.append(scalar == "\"" ? "'" : scalar)
      }
    }
    return result
  }

  private static func time(_ seconds: UInt64) -> String {
    seconds == 0 ? "?" : LocalTime(seconds).second
  }

  /// Columns, with a line of their own for missing entries in between.
  static func table(_ entries: [LoggedAccess]) -> [String] {
    let rows = entries.map { entry in
      [
        time(entry.line.created), entry.subject, entry.outcome,
        entry.line.event.map { $0.caller.isEmpty ? "?" : plain($0.caller) } ?? "",
      ]
    }
    var widths = [0, 0, 0]
    for row in rows { for column in widths.indices { widths[column] = max(widths[column], row[column].count) } }
    var lines: [String] = []
    for (entry, row) in zip(entries, rows) {
      if entry.line.missing > 0 { lines.append(translated("-- entries that are missing here: \(entry.line.missing)")) }
      var text = ""
      for column in widths.indices {
        text += row[column] + String(repeating: " ", count: widths[column] + 2 - row[column].count)
      }
      text += row[3]
      while text.last == " " { text.removeLast() }
      lines.append(text)
    }
    return lines
  }
}
