import LatchkeyGettext

/// Checks Latchkey's own PAM services, which prompts use.
struct OwnServices {
  let root: SystemRoot
  /// The person whose password these services verify.
  let uid: UInt32

  /// The lines of each as installed, without comments.
  static let installed: [(name: String, lines: [String])] = [
    (
      "latchkey-unlock",
      ["auth requisite pam_unix.so", "auth optional pam_latchkey.so", "account required pam_unix.so"]
    ),
    ("latchkey-collection", ["auth required pam_latchkey.so passphrase", "account required pam_permit.so"]),
    ("latchkey-item", ["auth required pam_latchkey.so passphrase", "account required pam_permit.so"]),
    ("latchkey-presence", ["auth required pam_unix.so", "account required pam_unix.so"]),
    ("latchkey-biometry", ["auth required pam_fprintd.so", "account required pam_permit.so"]),
  ]

  func findings() -> [Finding] { OwnServices.installed.map { finding($0.name, $0.lines) } }

  private func finding(_ name: String, _ lines: [String]) -> Finding {
    let id = "pam.\(name)"
    let fix = Finding.Fix.command("printf '%s\\n' \(words: lines) | sudo tee /etc/pam.d/\(name) >/dev/null")
    // latchkey-prompt searches only these two folders.
    let path = PAMStack.folders.prefix(2).map { "\($0)/\(name)" }.first { root.contains($0) }
    guard let path else {
      return Finding(id, .broken, translated("the service does not exist, so its prompts are refused"), fix: fix)
    }
    let stack: PAMStack
    do throws(PAMStack.Trouble) { stack = try PAMStack(name, .auth, in: root) } catch {
      if case .unreadable = error { return .unknown(id, error.description) }
      return Finding(id, .broken, translated("\(error.description), so its prompts are refused"), fix: fix)
    }
    let entries = stack.entries
    if entries.isEmpty {
      return Finding(id, .broken, translated("\(path) has no line for auth, so its prompts are refused"), fix: fix)
    }
    switch name {
    case "latchkey-unlock":
      let problem = (try? PAMExamination(root: root).problems(name, .auth, .locker))?.first { $0.condition > .unknown }
      if let problem { return Finding(id, problem.condition, problem.text, fix: fix) }
    case "latchkey-collection", "latchkey-item":
      guard entries.contains(where: { $0.isOurs && $0.options.contains("passphrase") }) else {
        return Finding(
          id, .broken,
          translated("\(path) has no 'pam_latchkey.so passphrase' in auth, so nothing asks for the passphrase"),
          fix: fix)
      }
    default: break
    }
    if let finding = localAccountsOnly(id, name, path, entries) { return finding }
    return .ok(id, translated("\(path) is correct"))
  }

  // MARK: - accounts of a directory

  /// Modules of directories that take the password that pam_unix.so asked for.
  private static let directories: Set<String> = ["pam_sss.so", "pam_ldap.so", "pam_krb5.so", "pam_winbind.so"]

  /// pam_unix.so verifies only passwords in files, and accounts of a directory have no password there.
  private func localAccountsOnly(
    _ id: String, _ name: String, _ path: String, _ entries: [PAMStack.Entry]
  ) -> Finding? {
    let askers = entries.filter(\.isAsker)
    guard !askers.isEmpty, askers.allSatisfy({ $0.module == "pam_unix.so" }) else { return nil }
    let accounts = root.lines("/etc/passwd")
    // If the file cannot be read, the account is unknown.
    guard !accounts.isEmpty, !accounts.contains(where: { isOfPerson($0) }) else { return nil }
    let found = translated("\(path) asks pam_unix.so only, but your account is not in /etc/passwd")
    guard let module = directoryModule() else {
      return Finding(
        id, .warning, found,
        fix: .advice(
          translated("Add the module that verifies your password, see ACCOUNTS OF A DIRECTORY in pam_latchkey(8).")))
    }
    let lines = OwnServices.lines(of: name, asking: module)
    return Finding(
      id, .warning, found, fix: .command("printf '%s\\n' \(words: lines) | sudo tee /etc/pam.d/\(name) >/dev/null"))
  }

  private func isOfPerson(_ account: Substring) -> Bool {
    let fields = account.split(separator: ":", omittingEmptySubsequences: false)
    return fields.count > 2 && fields[2] == String(uid)
  }

  /// The directory that logins use.
  private func directoryModule() -> String? {
    for service in PAMStack.services(in: root) where PAMService(service, in: root) == .login {
      let modules = (try? PAMStack(service, .auth, in: root))?.entries.map(\.module) ?? []
      if let module = modules.first(where: OwnServices.directories.contains) { return module }
    }
    return nil
  }

  /// The lines for accounts of files and of a directory.
  static func lines(of service: String, asking module: String) -> [String] {
    var lines = [
      "auth [success=2 default=ignore] pam_unix.so", "auth [success=1 default=ignore] \(module) use_first_pass",
      "auth requisite pam_deny.so", "auth required pam_permit.so",
    ]
    if service == "latchkey-unlock" { lines.append("auth optional pam_latchkey.so") }
    return lines + ["account required pam_permit.so"]
  }
}
