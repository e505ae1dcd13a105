import LatchkeyAdwaita
import LatchkeyGettext
import LatchkeySodium
import LatchkeyText

/// The stores of other programs: what would come, the import, and the switch to Latchkey and back.
final class MovingInPage: CommandPage {
  private let stores = Group(translated("Stores in your home"), translated("Nothing is changed at the old place."))
  private let report = Group(translated("Report"))
  private let change = Group(
    translated("Who keeps your secrets"),
    translated("Other keyrings step aside and keep their files. Both ways are rehearsed before you are asked."))

  init(_ copying: Copying, _ window: @escaping () -> Window?) {
    super.init(
      translated("Moving in"),
      translated("Bring the passwords of other programs into the vault, and make Latchkey the one that keeps them."),
      copying, window)
    for group in [stores, report, change] { content.append(group) }
    report.isVisible = false
    change.append(
      Row(translated("Make Latchkey the one"))
        .adding(Button(translated("_Rehearse…")) { [unowned self] in rehearseSwitch(["--to", "latchkey"]) }))
    change.append(
      Row(translated("Go back to the former one"))
        .adding(Button(translated("R_ehearse…")) { [unowned self] in rehearseSwitch(["--back"]) }))
  }

  override func load() {
    stores.removeAll()
    for store in OtherStore.found() {
      let row = Row(store.title, "~/\(store.files)")
      row.adding(Button(translated("_Rehearse…")) { [unowned self] in ask(store, isDry: true) })
      row.adding(Button(translated("_Import…")) { [unowned self] in ask(store, isDry: false) })
      stores.append(row)
    }
    if stores.isEmpty {
      stores.append(Row(translated("None was found"), "GNOME Keyring, KWallet, pass"))
    }
    stores.append(row(translated("A file with passwords"), command: "latchkey import csv passwords.csv"))
  }

  private func ask(_ store: OtherStore, isDry: Bool) {
    guard store.hasPassword else { return importing(store, isDry: isDry, nil) }
    ask(
      .typing, translated("Password of \(store.title)"),
      translated("It is often your login password, or the one that you had before. Leave it empty if there is none."),
      name: translated("Password"), answer: isDry ? translated("_Rehearse") : translated("_Import")
    ) { [weak self] line in self?.importing(store, isDry: isDry, line) }
  }

  private func importing(_ store: OtherStore, isDry: Bool, _ line: consuming SecureBytes?) {
    let words = ["import", store.command, "--json", "--no-prompt"] + (isDry ? ["--dry-run"] : [])
    run(
      words, input: line, saying: isDry ? translated("Rehearsing…") : translated("Importing…"),
      isEarnest: !isDry
    ) {
      [unowned self] outcome in
      guard let found = outcome.json else { return complain(outcome) }
      show(found, isDry: isDry)
      complain(outcome.message)
    }
  }

  private func show(_ found: JSONValue, isDry: Bool) {
    report.removeAll()
    report.isVisible = true
    report.setTitle(isDry ? translated("Rehearsal: nothing was changed") : translated("Report"))
    for (key, title) in [
      ("added", isDry ? translated("Would come") : translated("Imported")), ("same", translated("There already")),
      ("newer_there", translated("Newer there")), ("newer_here", translated("Newer here, which stays")),
      ("replaced", translated("Replaced")), ("conflicts", translated("In conflict, which stays here")),
      ("left", translated("Stay behind")),
    ] where found[key].number > 0 || key == "added" {
      report.append(Row(title, found[key].name))
    }
    for line in found["lines"].list.filter({ $0["outcome"].string != "same" }).prefix(100) {
      let reason = line["reason"].sentence
      report.append(Row(line["label"].name, line["collection"].name + (reason.isEmpty ? "" : ": \(reason)")))
    }
    for notice in found["notices"].list { report.append(Row(notice.sentence)) }
  }

  private func rehearseSwitch(_ words: [String]) {
    run(["switch", "--json"] + words + ["--dry-run"], saying: translated("Rehearsing…")) { [unowned self] outcome in
      guard let plan = outcome.json, let window = window() else { return complain(outcome) }
      let lines = (plan["refused"].list + plan["changes"].list + plan["notes"].list + plan["left"].list).map(\.sentence)
      let isPossible = plan["refused"].list.isEmpty && !plan["changes"].list.isEmpty
      let text = lines.isEmpty ? translated("There is nothing to do.") : lines.joined(separator: "\n")
      var answers: [(name: String, text: String, style: Question.Style)] = [("cancel", translated("_Cancel"), .plain)]
      if isPossible { answers.append(("go", translated("_Do it"), .suggested)) }
      _ = Question(translated("This would change:"), text, answers: answers, over: window) { [weak self] answer in
        if answer == "go" { self?.perform(words) }
      }
    }
  }

  private func perform(_ words: [String]) {
    run(["switch", "--json"] + words, saying: translated("Switching…"), isEarnest: true) { [unowned self] outcome in
      guard let done = outcome.json else { return complain(outcome) }
      complain((done["refused"].list + done["left"].list).map(\.sentence).joined(separator: "\n"))
      if outcome.status == 0 { window()?.tell(translated("Done. Programs that run may need a restart.")) }
    }
  }
}
