import LatchkeyGettext

/// Looks at the PAM services that are Latchkey's own: those of prompts.
struct OwnServices {
  let root: SystemRoot

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
    let words = lines.map { "'\($0)'" }.joined(separator: " ")
    let fix = Finding.Fix.command("printf '%s\\n' \(words) | sudo tee /etc/pam.d/\(name) >/dev/null")
    // latchkey-prompt looks in these two only.
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
    return .ok(id, translated("\(path) is right"))
  }
}
