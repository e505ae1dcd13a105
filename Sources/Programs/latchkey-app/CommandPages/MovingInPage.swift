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
    translated("Other keyrings step aside and keep their files. You see what would change before it is done."))
  private let taking = Row(translated("Make Latchkey Your Keyring"))

  init(_ copying: Copying, _ window: @escaping () -> Window?) {
    super.init(
      PageName.movingIn.title,
      translated(
        "Bring the passwords of other programs into the vault, and make Latchkey the program that keeps them."),
      copying, window)
    for group in [stores, report, change] { content.append(group) }
    report.isVisible = false
    change.append(
      taking.adding(
        Button(translated("_Switch…")) { [unowned self] in
          rehearse(
            ["--to", "latchkey"], translated("Switch to Latchkey?"),
            translated(
              "Programs keep their passwords in Latchkey from now on. Other keyrings step aside and keep their files. You can go back on this page."
            ), translated("_Switch"))
        }))
    change.append(
      Row(translated("Go Back to the Former Keyring"))
        .adding(
          Button(translated("_Go Back…")) { [unowned self] in
            rehearse(
              ["--back"], translated("Go Back to the Former Keyring?"),
              translated(
                "The former keyring keeps the passwords of programs again. Passwords that came into Latchkey meanwhile stay in the vault, and the former keyring does not have them."
              ), translated("_Go Back"))
          }))
  }

  override func load() {
    stores.removeAll()
    for store in OtherStore.found() {
      let row = Row(store.title, "~/\(store.files)")
      row.adding(Button(translated("_Preview…")) { [unowned self] in ask(store, isDry: true) })
      row.adding(Button(translated("_Import…")) { [unowned self] in ask(store, isDry: false) })
      stores.append(row)
    }
    if stores.isEmpty {
      stores.append(Row(translated("None was found"), "GNOME Keyring, KWallet, pass"))
    }
    stores.append(row(translated("A File With Passwords"), command: "latchkey import csv passwords.csv"))
    // The vault's state may change while somebody waits for a preview.
    if !isRunning { lookWhoKeeps() }
  }

  /// Says whether other keyrings have stepped aside.
  private func lookWhoKeeps() {
    run(["switch", "--json", "--to", "latchkey", "--dry-run"]) { [unowned self] outcome in
      guard let plan = outcome.json, plan["refused"].list.isEmpty else { return taking.setText("") }
      taking.setText(
        plan["changes"].list.isEmpty
          ? translated("It is: no other keyring is set up.")
          : translated("Another keyring is set up, too. Programs may find either of the two."))
    }
  }

  private func ask(_ store: OtherStore, isDry: Bool) {
    guard store.hasPassword else { return importing(store, isDry: isDry, nil) }
    ask(
      .typing, translated("Password of \(store.title)"),
      translated("It is often your login password, or the one that you had before. Leave it empty if there is none."),
      name: translated("Password"), answer: isDry ? translated("_Preview") : translated("_Import")
    ) { [weak self] line in self?.importing(store, isDry: isDry, line) }
  }

  private func importing(_ store: OtherStore, isDry: Bool, _ line: consuming SecureBytes?) {
    let words = ["import", store.command, "--json", "--no-prompt"] + (isDry ? ["--dry-run"] : [])
    run(
      words, input: line, saying: isDry ? translated("Looking…") : translated("Importing…"),
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
      isDry ? translated("Preview") : translated("Report"), isDry ? translated("Nothing was changed.") : "")
    for (key, title) in [
      ("added", isDry ? translated("Would Be Imported") : translated("Imported")),
      ("same", translated("Already There")),
      ("newer_there", translated("Newer There")), ("newer_here", translated("Newer Here, Which Stays")),
      ("replaced", translated("Replaced")), ("conflicts", translated("In Conflict, Which Stays Here")),
      ("left", translated("Stay Behind")),
    ] where found[key].number > 0 || key == "added" {
      report.append(Row(title, found[key].name))
    }
    for line in found["lines"].list.filter({ $0["outcome"].string != "same" }).prefix(100) {
      // The class that an item has anyway says nothing to a person.
      let reason = line["reason"].string == translated("default class") ? "" : line["reason"].sentence
      report.append(Row(line["label"].name, line["collection"].name + (reason.isEmpty ? "" : ": \(reason)")))
    }
    for notice in found["notices"].list { report.append(Row(notice.sentence)) }
  }

  /// Asks whether a switch is done.
  ///
  /// - Parameters:
  ///   - question: the title.
  ///   - meaning: the result, for a person who knows no file of a keyring.
  ///   - goes: the name of the button that performs the switch.
  private func rehearse(_ words: [String], _ question: String, _ meaning: String, _ goes: String) {
    run(["switch", "--json"] + words + ["--dry-run"]) { [unowned self] outcome in
      guard let plan = outcome.json, let window = window() else { return complain(outcome) }
      let changes = plan["changes"].list.map(\.sentence)
      let isPossible = plan["refused"].list.isEmpty && !changes.isEmpty
      let title = isPossible ? question : translated("Nothing Would Change")
      let lines =
        (isPossible ? [meaning] : [])
        + (plan["refused"].list + plan["notes"].list + plan["left"].list).map(\.sentence)
      var answers: [(name: String, text: String, style: Question.Style)] = [
        isPossible ? ("cancel", translated("_Cancel"), .plain) : ("close", translated("_Close"), .plain)
      ]
      if isPossible { answers.append(("go", goes, .suggested)) }
      let details = isPossible ? Expander(translated("_What Would Change"), changes) : nil
      _ = Question(
        title, lines.joined(separator: "\n\n"), answers: answers, content: details, over: window
      ) { [weak self] answer in if answer == "go" { self?.perform(words) } }
    }
  }

  private func perform(_ words: [String]) {
    run(["switch", "--json"] + words, saying: translated("Switching…"), isEarnest: true) { [unowned self] outcome in
      guard let done = outcome.json else { return complain(outcome) }
      load()
      complain((done["refused"].list + done["left"].list).map(\.sentence).joined(separator: "\n"))
      if outcome.status == 0 { window()?.tell(translated("Done. Programs that run may need a restart.")) }
    }
  }
}
