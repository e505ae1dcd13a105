import Glibc
import LatchkeyBackup
import LatchkeyGettext
import LatchkeyKeybag

/// The result of a backup or a restore, in words and as JSON.
extension ArchiveReport {
  private struct Report: Encodable {
    struct Line: Encodable {
      let outcome: String
      let collection: String
      let label: String
      let `class`: String?
      let reason: String
      let code: ReasonCode?
    }
    let file: String?
    let generation: UInt32?
    let dry_run: Bool?
    let items: UInt64
    let added: UInt64
    let same: UInt64
    let replaced: UInt64
    let conflicts: UInt64
    let left: UInt64
    let excluded: UInt64
    let lines: [Line]
  }

  /// - Parameters:
  ///   - file: nil for items from a generation of the vault, as `generation` is for a backup.
  ///   - isDry: nil for a backup.
  func json(file: String? = nil, generation: UInt32? = nil, isDry: Bool?) throws -> String {
    let report = Report(
      file: file, generation: generation, dry_run: isDry, items: items, added: added, same: same, replaced: replaced,
      conflicts: conflicts,
      left: left, excluded: excluded,
      lines: lines.map {
        .init(
          outcome: $0.outcome.name, collection: $0.collection, label: $0.label, class: $0.accessibility?.name,
          reason: $0.reason?.text ?? "", code: $0.reason.map(ReasonCode.init))
      })
    return try JSONText.of(report)
  }

  private func count(_ number: UInt64) -> String {
    translated(number, one: "\(number) item", other: "\(number) items")
  }

  private func section(_ outcome: Outcome, _ title: String) -> [String] {
    let found = lines.filter { $0.outcome == outcome }
    guard !found.isEmpty else { return [] }
    return [title] + found.map { "  " + TerminalText.printable($0.text) }
  }

  func backupText(_ file: String) -> String {
    var text = [translated("\(TerminalText.printable(file)) has \(count(items)) now.")]
    text += section(.left, translated("Left out:"))
    text += section(.excluded, translated("Never in a backup:"))
    return text.joined(separator: "\n")
  }

  /// - Parameter source: where the items come from.
  func restoreText(from source: String = translated("the backup"), isDry: Bool) -> String {
    var text = [
      isDry
        ? translated(
          """
          \(count(items)) in \(source): \(added) would be restored, \(same) in the vault already, \(replaced) would \
          replace another, \(conflicts) in conflict, \(left) would stay behind.
          """)
        : translated(
          """
          \(count(items)) in \(source): \(added) restored, \(same) in the vault already, \(replaced) replaced \
          another, \(conflicts) in conflict, \(left) stayed behind.
          """)
    ]
    if isDry {
      text += section(.added, translated("Would be restored:"))
      text += section(.replaced, translated("Would replace an item with another secret:"))
    }
    text += section(.conflict, translated("In conflict; the vault's item stays (--theirs takes \(source)'s):"))
    text += section(.left, isDry ? translated("Would stay behind:") : translated("Stayed behind:"))
    text += section(.notice, translated("Collections:"))
    if isDry { text.append(translated("Nothing was changed.")) }
    return text.joined(separator: "\n")
  }
}

extension ArchiveReport.Line {
  fileprivate var text: String {
    let thing = label.isEmpty ? collection : "\(collection) / \(label)"
    return thing + (accessibility.map { " (\($0.name))" } ?? "") + (reason.map { ": \($0.told)" } ?? "")
  }
}

extension ArchiveReport.Outcome {
  fileprivate var name: String {
    switch self {
    case .added: "added"
    case .replaced: "replaced"
    case .conflict: "conflict"
    case .left: "left"
    case .excluded: "excluded"
    case .notice: "notice"
    }
  }
}
