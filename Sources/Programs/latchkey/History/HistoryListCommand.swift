import ArgumentParser
import LatchkeyControl
import LatchkeyGettext
import LatchkeyHistoryControl
import LatchkeyPosix
import LatchkeyReasons

/// `latchkey history list`
struct HistoryListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: translated("List the generations of the vault, the newest first."),
    discussion: translated("A generation that cannot be read is listed with the reason. No secret is read."))

  @OptionGroup var place: DaemonPlace
  @Flag(help: .translated("As JSON, with the same keys in every version.")) var json = false

  func run() throws {
    let all = try Failure.history {
      try place.connect().generations(until: LatchkeyPosix.Process.now + HistoryLimits.answer)
    }
    print(json ? try JSONText.of(ListedHistory(all)) : ListedHistory(all).text)
  }
}

/// The generations as a list for a person and as JSON.
struct ListedHistory: Encodable {
  struct Generation: Encodable {
    let number: UInt32
    let time: UInt64
    let size: UInt64
    let items: UInt64?
    let problem: Reason?

    private enum CodingKeys: String, CodingKey { case number, time, size, items, problem, problem_code }

    /// Every generation has the same keys in JSON.
    func encode(to encoder: any Encoder) throws {
      var out = encoder.container(keyedBy: CodingKeys.self)
      try out.encode(number, forKey: .number)
      try out.encode(time, forKey: .time)
      try out.encode(size, forKey: .size)
      try out.encode(items, forKey: .items)
      try out.encode(problem?.text, forKey: .problem)
      try out.encode(problem.map(ReasonCode.init), forKey: .problem_code)
    }
  }

  let on: Bool
  let settings: String
  let problem: Reason?
  let generations: [Generation]

  private enum CodingKeys: String, CodingKey { case on, settings, problem, problem_code, generations }

  func encode(to encoder: any Encoder) throws {
    var out = encoder.container(keyedBy: CodingKeys.self)
    try out.encode(on, forKey: .on)
    try out.encode(settings, forKey: .settings)
    try out.encode(problem?.text ?? "", forKey: .problem)
    try out.encode(problem.map(ReasonCode.init), forKey: .problem_code)
    try out.encode(generations, forKey: .generations)
  }

  init(_ page: GenerationPage) {
    (on, settings, problem) = (page.isOn, page.settings, page.problem)
    generations = page.lines.map { line in
      Generation(
        number: line.number, time: line.time, size: line.size, items: line.problem == nil ? line.items : nil,
        problem: line.problem)
    }
  }

  var text: String {
    let rows = generations.map { one in
      [
        String(one.number), LocalTime(one.time).minute, one.items.map { String($0) } ?? "?", Self.size(one.size),
        one.problem?.told ?? "",
      ]
    }
    var lines: [String] = []
    if rows.isEmpty {
      lines.append(translated("There is no generation yet."))
    } else {
      lines += Self.table(
        [[translated("Number"), translated("Made"), translated("Items"), translated("Size"), ""]] + rows)
    }
    if !on {
      lines.append(translated("Generations are off in \(settings)."))
    } else {
      if rows.isEmpty {
        lines.append(
          translated("A generation is made within an hour of a change; 'latchkey history make' makes one now."))
      }
      lines.append(translated("Settings: \(settings)"))
    }
    if let problem { lines.append(translated("Problem: \(problem.told)")) }
    return lines.map(TerminalText.printable).joined(separator: "\n")
  }

  private static func table(_ rows: [[String]]) -> [String] {
    let widths = (0..<4).map { column in rows.reduce(0) { max($0, $1[column].count) } }
    return rows.map { row in
      var line = ""
      for column in 0..<4 {
        let cell = row[column]
        // Numbers are aligned at the right.
        line +=
          column == 1
          ? cell.filling(column: widths[1]) : String(repeating: " ", count: widths[column] - cell.count) + cell
        line += "  "
      }
      line += row[4]
      while line.last == " " { line.removeLast() }
      return line
    }
  }

  private static func size(_ bytes: UInt64) -> String {
    bytes < 1 << 20 ? "\((bytes + 1023) >> 10) KiB" : "\(bytes >> 20).\((bytes % (1 << 20)) * 10 >> 20) MiB"
  }
}

/// The time limits for the daemon, in milliseconds.
enum HistoryLimits {
  /// The limit for one answer.
  static let answer = 30_000
  /// The time limit for a new generation, and for the write of the restored items.
  static let writing = 600_000
}

extension Failure {
  /// Runs a command that works with generations.
  static func history<Result: ~Copyable>(_ body: () throws -> Result) throws -> Result {
    try telling {
      do { return try body() } catch ControlError.declined(let reason) {
        throw Failure.declined(reason.told + ".")
      }
    }
  }
}
