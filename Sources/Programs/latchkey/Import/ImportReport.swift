import Glibc
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeyText

/// The result of an import, or of its rehearsal.
struct ImportReport: Encodable {
  /// The outcome for one item.
  enum Outcome: String, Encodable {
    /// The item comes into the vault.
    case new
    /// The vault has the item already, with the same secret.
    case same
    /// The item at the old place was changed later than the vault's item, and replaces that item.
    case newerThere = "newer_there"
    /// The vault's item was changed later, and stays.
    case newerHere = "newer_here"
    /// The item replaces another secret, as --prefer says.
    case replaced
    /// The vault has another secret for the item, which stays.
    case conflict
    /// The item stays behind; the reason says why.
    case left

    /// Whether the item from the old place replaces the vault's item.
    var takesTheirs: Bool { self == .newerThere || self == .replaced }
  }

  /// Why an item is in conflict.
  enum Conflict {
    /// The option --prefer can decide the conflict.
    case undecided
    /// No --prefer can decide the conflict; the reason says why.
    case settled
    /// The vault's item requires something for each read, so nothing was compared.
    case notCompared
  }

  /// One item.
  struct Line: Encodable {
    let outcome: Outcome
    let collection: String
    let label: String
    /// The item's class, if the import decides it.
    var `class`: String?
    /// Why the item has that outcome or class; empty if that is obvious.
    var reason = ""
    /// The kind of the item's conflict. The JSON report leaves it out.
    var conflict = Conflict.undecided

    private enum CodingKeys: String, CodingKey { case outcome, collection, label, `class`, reason }

    fileprivate var text: String {
      TerminalText.printable(
        "  \(collection) / \(label)\(self.class.map { " (\($0))" } ?? "")\(reason.isEmpty ? "" : ": \(reason)")")
    }
  }

  let dry_run: Bool
  private(set) var items = 0
  private(set) var added = 0
  private(set) var same = 0
  private(set) var newer_there = 0
  private(set) var newer_here = 0
  private(set) var replaced = 0
  private(set) var conflicts = 0
  private(set) var left = 0
  private(set) var lines: [Line] = []
  /// Notices for the person beside the items.
  var notices: [String] = []
  /// Whether a part of the old place was not read.
  var still_needed = false
  /// The files that were read. They are not moved.
  var files: [String] = []

  init(isDry: Bool) { dry_run = isDry }

  mutating func add(_ line: Line) {
    lines.append(line)
    items += 1
    switch line.outcome {
    case .new: added += 1
    case .same: same += 1
    case .newerThere: newer_there += 1
    case .newerHere: newer_here += 1
    case .replaced: replaced += 1
    case .conflict: conflicts += 1
    case .left: left += 1
    }
  }

  /// Whether the vault got anything new.
  var hasChanged: Bool { added > 0 || newer_there > 0 || replaced > 0 }
  /// Whether everything is in the vault now.
  var isWhole: Bool { newer_here == 0 && conflicts == 0 && left == 0 }

  private func section(_ outcome: Outcome, of conflict: Conflict = .undecided, _ title: String) -> [String] {
    ItemTally.section(title, lines.filter { $0.outcome == outcome && $0.conflict == conflict }.map(\.text))
  }

  var text: String {
    var text = [
      ItemTally.summary(
        items,
        [
          (added, dry_run ? translated("would be imported") : translated("imported")),
          (same, translated("there already")),
          (newer_there, dry_run ? translated("newer there, would be imported") : translated("newer there, imported")),
          (newer_here, translated("newer here")),
          (replaced, dry_run ? translated("would replace another") : translated("replaced another")),
          (conflicts, translated("in conflict")),
          (left, dry_run ? translated("would stay behind") : translated("stayed behind")),
        ])
    ]
    if dry_run {
      text += section(.new, translated("Would be restored:"))
      text += section(.same, translated("There already:"))
    }
    text += section(
      .newerThere,
      dry_run
        ? translated("Newer there; would replace the vault's item:")
        : translated("Newer there; replaced the vault's item:"))
    text += section(
      .newerHere, translated("Newer here; the vault's item stays (--prefer there takes the other secret):"))
    text += section(
      .replaced,
      dry_run ? translated("Would replace another secret:") : translated("Replaced another secret:"))
    text += section(
      .conflict, translated("In conflict; the vault's item stays (--prefer there takes the other secret):"))
    text += section(.conflict, of: .settled, translated("In conflict; the vault's item stays, whatever --prefer says:"))
    text += section(
      .conflict, of: .notCompared,
      translated("Not compared, because each reading requires a confirmation. These items of the vault stay:"))
    text += section(.left, dry_run ? translated("Would stay behind:") : translated("Stayed behind:"))
    text += notices.map(TerminalText.printable)
    if dry_run {
      text.append(translated("Nothing was changed."))
    } else if !files.isEmpty, !isWhole || still_needed {
      text.append(translated("Keep the files: your vault does not have everything that is in them."))
    } else if !files.isEmpty {
      text.append(translated("The files stay where they are. When your programs find everything here, delete them:"))
      text += files.map { TerminalText.printable("  rm \(Self.isFolder($0) ? "-r " : "")-- \(Self.quoted($0))") }
    }
    return text.joined(separator: "\n")
  }

  private static func isFolder(_ path: String) -> Bool {
    var kind = stat()
    return stat(path, &kind) == 0 && kind.st_mode & S_IFMT == S_IFDIR
  }

  /// A path in the words of a shell.
  private static func quoted(_ path: String) -> String { "'" + path.replacing(text: "'", with: "'\\''") + "'" }
}
