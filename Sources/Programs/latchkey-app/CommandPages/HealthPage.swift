import LatchkeyAdwaita
import LatchkeyGettext
import LatchkeyText

/// Doctor's findings, and the fix of each.
final class HealthPage: CommandPage {
  private let wrong = Group(translated("To Fix"))
  private let fine = Group(translated("In Order"))
  private let unlock: (@escaping (Bool) -> Void) -> Void

  /// - Parameter unlock: has the desktop ask for what unlocks the vault, and tells whether that succeeded. The command would ask on
  ///   a terminal.
  init(_ copying: Copying, _ window: @escaping () -> Window?, unlock: @escaping (@escaping (Bool) -> Void) -> Void) {
    self.unlock = unlock
    super.init(
      PageName.health.title, translated("The system settings that the vault depends on, and what fixes each."), copying,
      window)
    content.append(wrong)
    content.append(fine)
    wrong.isVisible = false
    fine.isVisible = false
  }

  override func load() {
    run(["doctor", "--json"], saying: translated("Checking…")) { [unowned self] outcome in
      guard let report = outcome.json else { return complain(outcome) }
      wrong.removeAll()
      fine.removeAll()
      fill(report["checks"].list.map(Finding.init))
      wrong.isVisible = !wrong.isEmpty
      fine.isVisible = !fine.isEmpty
    }
  }

  /// The result of one check, or of several checks with the same fix.
  private struct Finding {
    let state: String
    let command: String
    /// The names of the checks.
    var names: [String]
    var found: [String]
    var advice: [String]

    init(_ check: JSONValue) {
      (state, command) = (check["state"].string, check["command"].string)
      names = [check["id"].name]
      found = [check["found"].sentence]
      advice = [check["advice"].sentence].filter { !$0.isEmpty }
    }

    mutating func merge(_ other: Finding) {
      names += other.names
      found += other.found.filter { !found.contains($0) }
      advice += other.advice.filter { !advice.contains($0) }
    }

    /// A row with the finding, and below it the advice.
    var row: Row {
      var first = found.first ?? ""
      // Only these words get a capital letter. A name, such as that of a file, keeps its small letter.
      if ["a ", "an ", "memory ", "no ", "not ", "the ", "there "].contains(where: first.hasPrefix) {
        first = first.prefix(1).uppercased() + first.dropFirst()
      }
      let lines = found.dropFirst() + advice + [ShownText.sentence(command), names.joined(separator: ", ")]
      return Row(first, lines.filter { !$0.isEmpty }.joined(separator: "\n"))
    }
  }

  private func fill(_ all: [Finding]) {
    var toFix: [Finding] = []
    for one in all where one.state != "ok" {
      // One command may fix what several checks found, such as the lines of each login.
      let same = toFix.firstIndex { !one.command.isEmpty && $0.command == one.command && $0.state == one.state }
      if let same { toFix[same].merge(one) } else { toFix.append(one) }
    }
    for one in toFix { add(one) }
    for one in all where one.state == "ok" { fine.append(one.row.beginning(Symbol("object-select-symbolic"))) }
  }

  private func add(_ finding: Finding) {
    let symbol = Symbol(finding.state == "unknown" ? "dialog-question-symbolic" : "dialog-warning-symbolic")
    let (row, command) = (finding.row.beginning(symbol), finding.command)
    if !command.isEmpty {
      row.adding(copyButton(command))
      // The window offers no button for a fix that needs root or a terminal. The row then only shows the command.
      if let steps = Self.steps(of: command) {
        row.adding(
          steps == [Self.unlocking]
            ? Button(translated("_Unlock…")) { [unowned self] in fix(steps[...]) }
            : Button(translated("_Fix…")) { [unowned self] in ask(finding.advice, command, steps) })
      }
    }
    wrong.append(row)
  }

  /// The command that the window replaces by the desktop's own question.
  private static let unlocking = ["latchkey", "unlock"]

  /// The commands of a line; nil if one of them needs root, a terminal or a shell.
  private static func steps(of line: String) -> [[String]]? {
    let isPlain = line.unicodeScalars.allSatisfy {
      $0.isASCII && ($0.properties.isAlphabetic || " /._-@:=&0123456789".unicodeScalars.contains($0))
    }
    let steps = line.split(separator: " && ").map { $0.split(separator: " ").map(String.init) }
    let own = [["systemctl", "--user"], ["latchkey", "switch"], ["latchkey", "lock"], unlocking]
    guard isPlain, !steps.isEmpty,
      steps.allSatisfy({ step in !step.contains { $0.contains("&") } && own.contains { step.starts(with: $0) } })
    else { return nil }
    return steps
  }

  private func ask(_ advice: [String], _ line: String, _ steps: [[String]]) {
    guard let window = window() else { return }
    _ = Question(
      translated("Run This Command?"), (advice + [line]).joined(separator: "\n\n"),
      answers: [("cancel", translated("_Cancel"), .plain), ("run", translated("_Run"), .suggested)], over: window
    ) { [weak self] answer in if answer == "run" { self?.fix(steps[...]) } }
  }

  /// Runs one command after the other, until one fails.
  private func fix(_ steps: ArraySlice<[String]>) {
    guard let step = steps.first, let name = step.first else { return load() }
    if step == Self.unlocking {
      return unlock { [weak self] isDone in if isDone { self?.fix(steps.dropFirst()) } }
    }
    let program = name == "systemctl" ? "/usr/bin/systemctl" : nil
    run(program: program, Array(step.dropFirst()), saying: translated("Fixing…"), isEarnest: true) {
      [unowned self] outcome in
      guard outcome.status == 0 else {
        load()
        window()?.tell(outcome.told)
        return
      }
      fix(steps.dropFirst())
    }
  }
}
