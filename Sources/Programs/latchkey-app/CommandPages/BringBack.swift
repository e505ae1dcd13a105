import LatchkeyAdwaita
import LatchkeyGettext
import LatchkeyText

/// Brings items back from a generation: a rehearsal, a question to the person, and then the real restore.
final class BringBack {
  /// Runs a command of `latchkey` on behalf of the page that shows the items.
  ///
  /// - Parameter isEarnest: whether the command changes something. Only the person can end such a command.
  typealias Run = (_ words: [String], _ isEarnest: Bool, _ then: @escaping (ChildCommand.Outcome) -> Void) -> Void

  private let window: () -> Window?
  private let run: Run

  init(_ window: @escaping () -> Window?, _ run: @escaping Run) { (self.window, self.run) = (window, run) }

  /// Begins with the rehearsal, which changes nothing.
  ///
  /// - Parameters:
  ///   - items: the places of the items, at least one. Without a place, the command would bring back everything in the generation.
  ///   - takesTheirs: whether items that were changed after the generation get their former content back.
  ///   - then: called after items came back.
  func begin(
    generation number: String, moment: String, items: [String], takesTheirs: Bool, then: @escaping () -> Void
  ) {
    guard !items.isEmpty else { return }
    let words = ["history", "restore", "--json"] + (takesTheirs ? ["--theirs"] : []) + [number] + items
    run(words + ["--dry-run"], false) { [weak self] outcome in
      guard let self, let window = window() else { return }
      guard let report = outcome.json else { return tell(outcome) }
      _ = Question(
        translated("Bring Back From \(moment)?"), Self.summary(report),
        answers: [("cancel", translated("_Cancel"), .plain), ("back", translated("_Bring Back"), .suggested)],
        over: window
      ) { [weak self] answer in if answer == "back" { self?.perform(words, then) } }
    }
  }

  private func perform(_ words: [String], _ then: @escaping () -> Void) {
    run(words, true) { [weak self] outcome in
      guard let self else { return }
      guard let report = outcome.json else { return tell(outcome) }
      let count = report["added"].number + report["replaced"].number
      window()?.tell(translated(count, one: "1 item is back.", other: "\(count) items are back."))
      then()
    }
  }

  private func tell(_ outcome: ChildCommand.Outcome) {
    window()?.tell(outcome.told)
  }

  /// The findings of a rehearsal, as a text for the question.
  static func summary(_ report: JSONValue) -> String {
    var lines: [String] = []
    let back = report["added"].number + report["replaced"].number
    lines.append(translated(back, one: "1 item comes back.", other: "\(back) items come back."))
    let stay = report["conflicts"].number + report["left"].number
    if stay > 0 {
      lines.append(translated(stay, one: "1 item stays as it is.", other: "\(stay) items stay as they are."))
    }
    for line in report["lines"].list.prefix(8) {
      let reason = line["reason"].sentence
      lines.append("\(line["collection"].name) / \(line["label"].name)" + (reason.isEmpty ? "" : ": \(reason)"))
    }
    return lines.joined(separator: "\n")
  }
}
