import LatchkeyAdwaita
import LatchkeyGettext
import LatchkeyText

/// Doctor's findings, and the fix of each.
final class HealthPage: CommandPage {
  private let wrong = Group(translated("To fix"))
  private let fine = Group(translated("In order"))
  private var fixing: ChildCommand?

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
      row.adding(
        Button(symbol: "edit-copy-symbolic", name: translated("Copy the command")) { [unowned self] in
          copying.copy(command)
          window()?.tell(translated("The command is in the clipboard. Paste it into a terminal."))
        })
      // A fix that needs root, or asks on a terminal, stays a command.
      if Self.isOwn(command) {
        row.adding(Button(translated("_Fix…")) { [unowned self] in ask(command) })
      }
    }
    wrong.append(row)
  }

  /// Whether a command is the person's own, and asks nothing.
  private static func isOwn(_ command: String) -> Bool {
    let words = command.split(separator: " ")
    return words.starts(with: ["systemctl", "--user"]) || words.starts(with: ["latchkey", "switch"])
  }

  private func ask(_ command: String) {
    guard let window = window() else { return }
    _ = Question(
      translated("Run this command?"), command,
      answers: [("cancel", translated("_Cancel"), .plain), ("run", translated("_Run"), .suggested)], over: window
    ) { [weak self] answer in if answer == "run" { self?.fix(command) } }
  }

  private func fix(_ command: String) {
    fixing = ChildCommand(program: "/bin/sh", ["-c", command]) { [weak self] outcome in
      guard let self else { return }
      if outcome.status != 0 { window()?.tell(outcome.message) }
      load()
    }
  }
}
