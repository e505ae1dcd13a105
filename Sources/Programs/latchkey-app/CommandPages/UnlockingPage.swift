import LatchkeyAdwaita
import LatchkeyGettext
import LatchkeySodium
import LatchkeyText

/// The ways into the vault, and the commands that add or remove one.
final class UnlockingPage: CommandPage {
  private let ways = Group(translated("These unlock the vault"))
  private let recovery = Group(
    translated("Recovery code"),
    translated(
      "A code on paper that unlocks the vault without the password. Whoever has it and this computer's files can too."))
  private let code = Group(
    translated("Your recovery code"),
    translated("It is shown this once. Print it or write it down, keep it apart from this computer, then check it."))
  private let more = Group(
    translated("Other ways"), translated("Each asks for your login password in a terminal."))
  private var printing: PrintedPage?
  // The code while it is shown.
  private var shown: (output: HeldOutput, field: SecretField, rows: [Widget])?

  init(_ copying: Copying, _ window: @escaping () -> Window?) {
    super.init(
      translated("Unlocking"), translated("The ways into your vault. At least one of them must stay with you."),
      copying,
      window)
    for group in [ways, recovery, code, more] { content.append(group) }
    code.isVisible = false
    recovery.append(
      Row(translated("Create a code"), translated("An earlier code is no longer valid then."))
        .adding(Button(translated("C_reate…")) { [unowned self] in askToCreate() }))
    recovery.append(
      Row(translated("Check the code on paper"), translated("This changes nothing."))
        .adding(Button(translated("C_heck…")) { [unowned self] in askToCheck() }))
    for (title, command) in [
      (translated("Let logins without a password unlock a part"), "latchkey protector add session"),
      (translated("Give a collection a passphrase of its own"), "latchkey passphrase --help"),
    ] { more.append(row(title, command: command)) }
  }

  override func leave() { hideCode() }

  override func vaultChanged(_ state: String) {
    if state != "unlocked" { hideCode() }
    super.vaultChanged(state)
  }

  override func load() {
    // `protector list` knows what each is called, where the installed version has names.
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
      let created = one["created"].name
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
      .typing, translated("Create a recovery code?"),
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
    // The person may be elsewhere by now, and would not see it.
    guard widget.isOnScreen, let text = try? output.line() else {
      return window()?.tell(translated("The code was not shown. Create another one.")) ?? ()
    }
    let field = SecretField(.reading, name: translated("Your recovery code"))
    Self.put(text, in: field)
    let buttons = Row(translated("When you have it on paper"))
      .adding(Button(translated("_Print…")) { [unowned self] in print() })
      .adding(Button(translated("_Done")) { [unowned self] in hideCode() })
    let rows = [ScrolledArea(field, scrollsSideways: true), buttons]
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
      .spelling, translated("Check a recovery code"),
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
    case "password": state == "retiring" ? translated("former login password") : translated("login password")
    case "recovery-code": translated("recovery code")
    case "session": translated("logins without a password (after-first-unlock only)")
    case "device": translated("device key")
    case "security-key": translated("security key")
    default: ShownText.name(kind)
    }
  }
}
