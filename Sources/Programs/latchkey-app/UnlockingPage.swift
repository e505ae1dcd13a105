import LatchkeyAdwaita
import LatchkeyGettext
import LatchkeyText

/// The ways into the vault, and the commands that add or remove one.
final class UnlockingPage: CommandPage {
  private let ways = Group(translated("These unlock the vault"))
  private let more = Group(
    translated("Add or remove a way"),
    translated("Each asks for your login password in a terminal: only the program that derives keys may see it."))

  init(_ copying: Copying, _ window: @escaping () -> Window?) {
    super.init(
      translated("Unlocking"), translated("The ways into your vault. At least one of them must stay with you."),
      copying,
      window)
    content.append(ways)
    content.append(more)
    for (title, command) in [
      (translated("Create a recovery code, which opens the vault without the password"), "latchkey recovery create"),
      (translated("Check a recovery code"), "latchkey recovery check"),
      (translated("Let logins without a password unlock a part"), "latchkey protector add session"),
      (translated("Give a collection a passphrase of its own"), "latchkey passphrase --help"),
    ] { more.append(row(title, command: command)) }
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
