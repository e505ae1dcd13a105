import LatchkeyAdwaita
import LatchkeyGettext
import LatchkeySodium
import LatchkeyText

/// The stores of other programs: a preview of the import, the import, and the switch to Latchkey and back.
final class MovingInPage: CommandPage {
  private let stores = Group(translated("Stores in Your Home"), translated("Nothing is changed at the old place."))
  private let report = Group(translated("Report"))
  private let change = Group(
    translated("Who Keeps Your Secrets"),
    translated("Other keyrings step aside and keep their files. Both ways are rehearsed before you are asked."))

  init(_ copying: Copying, _ window: @escaping () -> Window?) {
    super.init(
      PageName.movingIn.title,
      translated(
        "Bring the passwords of other programs into the vault, and make Latchkey the program that keeps them."),
      copying, window)
    for group in [stores, report, change] { content.append(group) }
    report.isVisible = false
    change.append(
      Row(translated("Make Latchkey Your Keyring"))
        .adding(
          Button(translated("_Rehearse…")) { [unowned self] in
            rehearseSwitch(["--to", "latchkey"], translated("_Switch"))
          }))
    change.append(
      Row(translated("Go Back to the Former Keyring"))
        .adding(
          Button(translated("R_ehearse…")) { [unowned self] in rehearseSwitch(["--back"], translated("_Go Back")) }))
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
    stores.append(row(translated("A File With Passwords"), command: "latchkey import csv passwords.csv"))
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
    report.setTitle(
      isDry ? translated("Rehearsal") : translated("Report"), isDry ? translated("Nothing was changed.") : "")
    for (key, title) in [
      ("added", isDry ? translated("Would Come") : translated("Imported")), ("same", translated("Already There")),
      ("newer_there", translated("Newer There")), ("newer_here", translated("Newer Here, Which Stays")),
      ("replaced", translated("Replaced")), ("conflicts", translated("In Conflict, Which Stays Here")),
      ("left", translated("Stay Behind")),
    ] where found[key].number > 0 || key == "added" {
      report.append(Row(title, found[key].name))
    }
    for line in found["lines"].list.filter({ $0["outcome"].string != "same" }).prefix(100) {
      let reason = line["reason"].sentence
      report.append(Row(line["label"].name, line["collection"].name + (reason.isEmpty ? "" : ": \(reason)")))
    }
    for notice in found["notices"].list { report.append(Row(notice.sentence)) }
  }

  /// - Parameter goes: the name of the button that performs the switch.
  private func rehearseSwitch(_ words: [String], _ goes: String) {
    run(["switch", "--json"] + words + ["--dry-run"], saying: translated("Rehearsing…")) { [unowned self] outcome in
      guard let plan = outcome.json, let window = window() else { return complain(outcome) }
      let lines = (plan["refused"].list + plan["changes"].list + plan["notes"].list + plan["left"].list).map(\.sentence)
      let isPossible = plan["refused"].list.isEmpty && !plan["changes"].list.isEmpty
      let title = isPossible ? translated("This Would Change") : translated("Nothing Would Change")
      var answers: [(name: String, text: String, style: Question.Style)] = [
        isPossible ? ("cancel", translated("_Cancel"), .plain) : ("close", translated("_Close"), .plain)
      ]
      if isPossible { answers.append(("go", goes, .suggested)) }
      _ = Question(title, lines.joined(separator: "\n"), answers: answers, over: window) { [weak self] answer in
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
