import LatchkeyAdwaita
import LatchkeyGettext
import LatchkeyText

/// Doctor's findings, and the fix of each.
final class HealthPage: CommandPage {
  private let wrong = Group(translated("To fix"))
  private let fine = Group(translated("In order"))

  init(_ copying: Copying, _ window: @escaping () -> Window?) {
    super.init(
      translated("Health"), translated("The system settings that the vault depends on, and what fixes each."), copying,
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
      for check in report["checks"].list { add(check) }
      wrong.isVisible = !wrong.isEmpty
      fine.isVisible = !fine.isEmpty
    }
  }

  private func add(_ check: JSONValue) {
    let (state, command) = (check["state"].string, check["command"].string)
    guard state != "ok" else {
      return fine.append(Row(check["id"].name, check["found"].sentence).beginning(Symbol("emblem-ok-symbolic")))
    }
    let symbol = Symbol(state == "unknown" ? "dialog-question-symbolic" : "dialog-warning-symbolic")
    let text = [check["found"].sentence, ShownText.sentence(command), check["advice"].sentence].filter { !$0.isEmpty }
    let row = Row(check["id"].name, text.joined(separator: "\n")).beginning(symbol)
    if !command.isEmpty {
      row.adding(copyButton(command))
      // A fix that needs root, or asks on a terminal, stays a command.
      if let steps = Self.steps(of: command) {
        row.adding(Button(translated("_Fix…")) { [unowned self] in ask(command, steps) })
      }
    }
    wrong.append(row)
  }

  /// The commands of a line, if each is the person's own, asks nothing on a terminal and needs no shell; nil otherwise.
  private static func steps(of line: String) -> [[String]]? {
    let isPlain = line.unicodeScalars.allSatisfy {
      $0.isASCII && ($0.properties.isAlphabetic || " /._-@:=&0123456789".unicodeScalars.contains($0))
    }
    let steps = line.split(separator: " && ").map { $0.split(separator: " ").map(String.init) }
    let own = [["systemctl", "--user"], ["latchkey", "switch"], ["latchkey", "lock"], ["latchkey", "unlock"]]
    guard isPlain, !steps.isEmpty,
      steps.allSatisfy({ step in !step.contains { $0.contains("&") } && own.contains { step.starts(with: $0) } })
    else { return nil }
    return steps
  }

  private func ask(_ line: String, _ steps: [[String]]) {
    guard let window = window() else { return }
    _ = Question(
      translated("Run this command?"), line,
      answers: [("cancel", translated("_Cancel"), .plain), ("run", translated("_Run"), .suggested)], over: window
    ) { [weak self] answer in if answer == "run" { self?.fix(steps[...]) } }
  }

  /// Runs one command after the other, until one fails.
  private func fix(_ steps: ArraySlice<[String]>) {
    guard let step = steps.first, let name = step.first else { return load() }
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
