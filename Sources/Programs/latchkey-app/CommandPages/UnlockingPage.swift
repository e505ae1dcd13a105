import LatchkeyAdwaita
import LatchkeyGettext
import LatchkeySodium
import LatchkeyText

/// The ways into the vault, and the commands that add or remove a way.
final class UnlockingPage: CommandPage {
  private let ways = Group(translated("These Unlock the Vault"))
  private let recovery = Group(
    translated("Recovery Code"),
    translated(
      "A code on paper that unlocks the vault without the password. Keep it safe: anybody who has it and this computer's files can unlock the vault."
    ))
  private let code = Group(
    translated("Your Recovery Code"),
    translated("It is shown this once. Print it or write it down, keep it apart from this computer, then check it."))
  private let more = Group(
    translated("Other Ways"), translated("Each asks for your login password in a terminal."))
  private var printing: PrintedPage?
  // The recovery code and its rows, while they are on the page.
  private var shown: (output: HeldOutput, field: SecretField, rows: [Widget])?

  init(_ copying: Copying, _ window: @escaping () -> Window?) {
    super.init(
      PageName.unlocking.title, translated("The ways into your vault. At least one of them must stay with you."),
      copying,
      window)
    for group in [ways, recovery, code, more] { content.append(group) }
    code.isVisible = false
    recovery.append(
      Row(translated("Create a Code"), translated("An earlier code is no longer valid then."))
        .adding(Button(translated("C_reate…")) { [unowned self] in askToCreate() }))
    recovery.append(
      Row(translated("Check the Code on Paper"), translated("This changes nothing."))
        .adding(Button(translated("C_heck…")) { [unowned self] in askToCheck() }))
    for (title, command) in [
      (translated("Let Logins Without a Password Unlock a Part"), "latchkey protector add session"),
      (translated("Give a Collection a Passphrase of Its Own"), "latchkey passphrase --help"),
    ] { more.append(row(title, command: command)) }
  }

  override func leave() { hideCode() }

  override func vaultChanged(_ state: String) {
    if state != "unlocked" { hideCode() }
    super.vaultChanged(state)
  }

  override func load() {
    // `protector list` also tells the names of the ways. If the installed `latchkey` does not know this command, `status` replaces
    // it.
    run(["protector", "list", "--json"]) { [unowned self] outcome in
      if outcome.status == 0, let all = outcome.json { return show(all.list) }
      run(["status", "--json"]) { [unowned self] outcome in
        guard let status = outcome.json else { return complain(outcome) }
        show(status["protectors"].list)
      }
    }
  }

  private func show(_ protectors: [JSONValue]) {
    ways.removeAll()
    for one in protectors {
      let name = one["name"].name
      let title = Self.title(one["kind"].string, one["state"].string)
      let created = Moment.text(one["created"].string)
      ways.append(
        Row(name.isEmpty ? title : "\(title): \(name)", created.isEmpty ? "" : translated("since \(created)")))
    }
    if ways.isEmpty {
      ways.append(
        Row(translated("There is no vault yet"), translated("The next login with your password creates it.")))
    }
  }

  // MARK: The recovery code

  private func askToCreate() {
    ask(
      .typing, translated("Create a Recovery Code?"),
      translated("Your login password is needed. A code that you created before is no longer valid then."),
      name: translated("Login password"), answer: translated("_Create")
    ) { [weak self] line in self?.create(line) }
  }

  private func create(_ line: consuming SecureBytes?) {
    guard let output = try? HeldOutput() else { return complain(translated("There is no memory for it.")) }
    run(
      ["recovery", "create", "--stdin", "--stdout"], input: line, secret: output, saying: translated("Creating…"),
      isEarnest: true
    ) { [unowned self] outcome in
      guard outcome.status == 0, let output = outcome.secret else { return complain(outcome) }
      show(output)
      load()
    }
  }

  private func show(_ output: HeldOutput) {
    hideCode()
    // If the person has left the page, nobody would see the code.
    guard widget.isOnScreen, let text = try? output.line() else {
      return window()?.tell(translated("The code was not shown. Create another one.")) ?? ()
    }
    let field = SecretField(.reading, name: translated("Your Recovery Code"))
    Self.put(text, in: field)
    let buttons = Row(translated("When you have it on paper"))
      .adding(Button(translated("_Print…")) { [unowned self] in print() })
      .adding(Button(translated("_Done")) { [unowned self] in hideCode() })
    let rows = [WideRow(ScrolledArea(field, scrollsSideways: true), name: translated("Your Recovery Code")), buttons]
    for row in rows { code.append(row) }
    code.isVisible = true
    shown = (output, field, rows)
  }

  private static func put(_ text: borrowing SecureBytes, in field: SecretField) { field.show(text.bytes) }

  private func hideCode() {
    guard let shown else { return }
    shown.field.erase()
    code.removeAll()
    code.isVisible = false
    self.shown = nil
  }

  private func print() {
    guard printing == nil, let shown, let window = window(), let text = try? shown.output.line() else { return }
    let page = PrintedPage(
      title: translated("Recovery code of the Latchkey vault"), secret: text,
      text: translated(
        """
        It unlocks the vault of this account when the password is gone: run 'latchkey unlock --recovery'. Keep this paper \
        apart from the computer, and show it to nobody.
        """)
    )
    printing = page
    page.print(over: window) { [weak self] end in
      self?.printing = nil
      if end == .failed { self?.complain(translated("It was not printed. Write the code down.")) }
    }
  }

  private func askToCheck() {
    ask(
      .spelling, translated("Check a Recovery Code"),
      translated("Type the code from the paper. Small and capital letters mean the same."),
      name: translated("Recovery code"), answer: translated("C_heck")
    ) { [weak self] line in
      self?.run(["recovery", "check", "--stdin"], input: line, saying: translated("Checking…")) { [weak self] outcome in
        guard outcome.status == 0 else { self?.complain(outcome); return }
        self?.window()?.tell(translated("The code is right: it unlocks this vault."))
      }
    }
  }

  private static func title(_ kind: String, _ state: String) -> String {
    switch kind {
    case "password": state == "retiring" ? translated("Former Login Password") : translated("Login Password")
    case "recovery-code": translated("Recovery Code")
    case "session": translated("Logins Without a Password (after-first-unlock only)")
    case "device": translated("Device Key")
    case "security-key": translated("Security Key")
    default: ShownText.name(kind)
    }
  }
}
