import LatchkeyGettext

/// The result of an export, or of its rehearsal.
struct ExportReport: Encodable {
  /// The outcome for one item.
  enum Outcome: String, Encodable {
    /// The item is at the other place now.
    case exported
    /// The item was there already, with the same secret.
    case same
    /// The other place has another secret for the item, which stays.
    case conflict
    /// The item was left out; the reason says why.
    case left
  }

  /// One item.
  struct Line: Encodable {
    let outcome: Outcome
    let collection: String
    let label: String
    /// The item's place in the vault.
    let path: String
    /// Why the item has that outcome; empty if that is obvious.
    var reason = ""

    fileprivate var text: String {
      TerminalText.printable("  \(collection) / \(label) (\(path))\(reason.isEmpty ? "" : ": \(reason)")")
    }
  }

  let dry_run: Bool
  private(set) var items = 0
  private(set) var exported = 0
  private(set) var same = 0
  private(set) var conflicts = 0
  private(set) var left = 0
  private(set) var lines: [Line] = []
  /// Notices for the person that are about no item.
  var notices: [String] = []
  /// The file that was written; nil if no file was written.
  var file: String?

  init(isDry: Bool) { dry_run = isDry }

  mutating func add(_ line: Line) {
    lines.append(line)
    items += 1
    switch line.outcome {
    case .exported: exported += 1
    case .same: same += 1
    case .conflict: conflicts += 1
    case .left: left += 1
    }
  }

  /// Whether every item is at the other place.
  var isWhole: Bool { conflicts == 0 && left == 0 }

  private enum CodingKeys: String, CodingKey {
    case dry_run, items, exported, same, conflicts, left, lines, notices, file
  }

  /// Every export has the same keys in JSON.
  func encode(to encoder: any Encoder) throws {
    var out = encoder.container(keyedBy: CodingKeys.self)
    try out.encode(dry_run, forKey: .dry_run)
    try out.encode(items, forKey: .items)
    try out.encode(exported, forKey: .exported)
    try out.encode(same, forKey: .same)
    try out.encode(conflicts, forKey: .conflicts)
    try out.encode(left, forKey: .left)
    try out.encode(lines, forKey: .lines)
    try out.encode(notices, forKey: .notices)
    try out.encode(file, forKey: .file)
  }

  private func section(_ outcome: Outcome, _ title: String) -> [String] {
    ItemTally.section(title, lines.filter { $0.outcome == outcome }.map(\.text))
  }

  var text: String {
    var text = [
      ItemTally.summary(
        items,
        [
          (exported, dry_run ? translated("would be exported") : translated("exported")),
          (same, translated("there already")), (conflicts, translated("in conflict")),
          (left, dry_run ? translated("would be left out") : translated("left out")),
        ])
    ]
    if dry_run { text += section(.exported, translated("Would be exported:")) }
    text += section(.conflict, translated("In conflict; the other program's secret stays:"))
    text += section(.left, dry_run ? translated("Would be left out:") : translated("Left out:"))
    text += notices.map(TerminalText.printable)
    if dry_run { text.append(translated("Nothing was written.")) }
    if let file { text.append(TerminalText.printable(translated("Written to \(file)."))) }
    return text.joined(separator: "\n")
  }
}
