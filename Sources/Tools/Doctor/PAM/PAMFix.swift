import LatchkeyGettext
import LatchkeyText

/// Finds the command that puts the module into its place, and tries each command on a copy of the files' text.
struct PAMFix {
  let root: SystemRoot

  private struct Candidate {
    let command: ShellCommand
    let outcome: SystemRoot
  }

  /// The fix for a service.
  func fix(_ name: String, _ service: PAMService, _ problems: [PAMExamination.Problem]) -> Finding.Fix {
    let kinds = Set(problems.filter { $0.condition != .ok }.map(\.kind))
    let worst = problems.map(\.condition).max() ?? .ok
    let worstKinds = Set(problems.filter { $0.condition == worst }.map(\.kind))
    // A shared file also fixes other services. The service's own file fixes the rest.
    if let first = shared().first(where: { isFixed($0, name, service, worstKinds) })
      ?? own(name, kinds).first(where: { isFixed($0, name, service, kinds) })
    {
      return .command(first.command)
    }
    let path = PAMStack.path(of: name, in: root) ?? "/etc/pam.d/\(name)"
    let lines = PAMStack.Kind.allCases.filter(kinds.contains).map {
      "'\(PAMFix.line($0))' \(PAMFix.place($0))"
    }
    // No command rewrites the lines in between, because a mistake there locks everybody out.
    let advice = translated("In \(path), or in a file that it includes, put \(PAMExamination.list(lines)).")
    guard kinds.contains(where: { endsEarly(name, $0) }) else { return .advice(advice) }
    return .advice(
      advice + " "
        + translated(
          "A line before that place ends the stack, as 'sufficient' does: change that line so that it jumps to the new one, as pam_latchkey(8) shows."
        ))
  }

  private func isFixed(
    _ candidate: Candidate, _ name: String, _ service: PAMService, _ kinds: Set<PAMStack.Kind>
  ) -> Bool {
    let after = PAMExamination(root: candidate.outcome)
    return kinds.allSatisfy { kind in
      guard let left = try? after.problems(name, kind, service) else { return false }
      return left.allSatisfy { $0.condition == .ok }
    }
  }

  private static func line(_ kind: PAMStack.Kind) -> String { "\(kind.rawValue) optional pam_latchkey.so" }

  private static func place(_ kind: PAMStack.Kind) -> String {
    switch kind {
    case .auth: translated("last, where only the right password reaches it")
    case .session: translated("after pam_systemd.so")
    case .password: translated("after the module that changes the password")
    }
  }

  // MARK: - files that services share

  private func shared() -> [Candidate] {
    switch Distribution(root) {
    case .debian: debian()
    case .fedora: fedora()
    case .arch: arch()
    case .suse, .other: []
    }
  }

  /// The file for each kind of line. The command is the same for every service, so that one command fixes all services.
  private func lacking(_ path: (PAMStack.Kind) -> String) -> [PAMStack.Kind: String] {
    var paths: [PAMStack.Kind: String] = [:]
    for kind in PAMStack.Kind.allCases {
      let hasLine = root.lines(path(kind)).contains { line in
        let words = line.split { $0 == " " || $0 == "\t" }
        return words.first.map { $0 == kind.rawValue || $0 == "-" + kind.rawValue } ?? false
          && words.contains { $0.hasSuffix("pam_latchkey.so") }
      }
      if !hasLine { paths[kind] = path(kind) }
    }
    return paths
  }

  private func debian() -> [Candidate] {
    let candidate = appending(lacking { "/etc/pam.d/common-\($0.rawValue)" })
    // If the profile is enabled and somebody took that line out of a file, enabling the profile again does not put the line back.
    let isEnabled = PAMStack.Kind.allCases.contains {
      root.lines("/var/lib/pam/\($0.rawValue)").contains("Module: latchkey")
    }
    guard root.contains("/usr/share/pam-configs/latchkey"), root.contains("/usr/sbin/pam-auth-update"), !isEnabled
    else {
      return [candidate]
    }
    return [Candidate(command: Self.enabling, outcome: candidate.outcome)]
  }

  private static let enabling: ShellCommand = "sudo pam-auth-update --enable latchkey"

  /// pam-auth-update leaves edited files alone, with exit status 0.
  func remark(_ fix: Finding.Fix) -> String? {
    guard fix == .command(Self.enabling) else { return nil }
    let lines = appending(lacking { "/etc/pam.d/common-\($0.rawValue)" }).command.line
    return translated(
      """
      If the command reports local modifications, it changed nothing. Do not use --force, which drops them. Add the \
      lines by hand, as with: \(lines). /usr/share/doc/libpam-latchkey/README.md says where they belong.
      """)
  }

  /// authselect overwrites the shared files from a profile. The administrator can make a profile.
  private func fedora() -> [Candidate] {
    let words = root.lines("/etc/authselect/authselect.conf").map(String.init)
    let paths = lacking { _ in "/etc/pam.d/postlogin" }
    guard let profile = words.first else { return [appending(paths)] }
    let isCustom = profile.hasPrefix("custom/")
    let kinds = PAMStack.Kind.allCases.filter { !isCustom || paths[$0] != nil }
    let own = isCustom ? profile : "custom/latchkey"
    let file = "/etc/authselect/\(own)/postlogin"
    let write: ShellCommand = "printf '%s\\n' \(words: kinds.map(PAMFix.line)) | sudo tee -a \(file) >/dev/null"
    let selected = [own] + words.dropFirst()
    let command: ShellCommand =
      isCustom
      ? "\(part: write) && sudo authselect apply-changes"
      : """
      sudo authselect create-profile latchkey -b \(profile) && \(part: write) \
      && sudo authselect select \(words: selected)
      """
    return [Candidate(command: command, outcome: appending(paths).outcome)]
  }

  private func arch() -> [Candidate] {
    [appending(lacking { $0 == .session ? "/etc/pam.d/system-login" : "/etc/pam.d/system-auth" })]
  }

  // MARK: - the service's own file

  private func own(_ name: String, _ kinds: Set<PAMStack.Kind>) -> [Candidate] {
    guard let found = PAMStack.path(of: name, in: root), case .text(let text) = root.content(found) else { return [] }
    // Files of packages must not be changed. libpam prefers the administrator's file.
    let path = "/etc/pam.d/\(name)"
    let copy: ShellCommand = found == path ? "" : "sudo cp \(found) \(path) && "
    let base = found == path ? root : root.changing(path, to: text)
    let there = PAMFix(root: base)
    let paths = Dictionary(uniqueKeysWithValues: kinds.map { ($0, path) })
    let simple = there.appending(paths)
    // With `include`, the included lines can end the whole stack; with `substack` they cannot.
    let names = PAMStack.Kind.allCases.filter(kinds.contains).map(\.rawValue).joined(separator: "|")
    let script = "s/^(-?(\(names))[[:space:]]+)include/\\1substack/"
    let bounded: ShellCommand = "sudo sed -i -E \(script) \(path)"
    let changed = base.changing(path, to: PAMFix.bounding(text, kinds))
    let behind = PAMFix(root: changed).appending(paths)
    return [
      Candidate(command: "\(part: copy)\(part: simple.command)", outcome: simple.outcome),
      Candidate(command: "\(part: copy)\(part: bounded)", outcome: changed),
      Candidate(command: "\(part: copy)\(part: bounded) && \(part: behind.command)", outcome: behind.outcome),
    ]
  }

  private static func bounding(_ text: String, _ kinds: Set<PAMStack.Kind>) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let words = line.split(maxSplits: 2, whereSeparator: { $0 == " " || $0 == "\t" })
      guard words.count == 3, words[1] == "include",
        kinds.contains(where: { words[0] == $0.rawValue || words[0] == "-" + $0.rawValue })
      else { return String(line) }
      return "\(words[0]) substack \(words[2])"
    }.joined(separator: "\n")
  }

  /// Whether a line ends the stack at the right password before the module, so that one more line of the module does not help.
  private func endsEarly(_ name: String, _ kind: PAMStack.Kind) -> Bool {
    guard kind != .session, let stack = try? PAMStack(name, kind, in: root), stack.entries.contains(where: \.isOurs)
    else { return false }
    return stack.entries.indices.contains { asker in
      guard stack.entries[asker].isAsker else { return false }
      let trial = PAMTrial(stack, accepting: .entry(asker))
      return trial.isSuccess && !trial.called.contains { stack.entries[$0].isOurs }
    }
  }

  /// Adds each line at the end of its file, as the last line of its type.
  private func appending(_ paths: [PAMStack.Kind: String]) -> Candidate {
    var outcome = root
    var command: ShellCommand = ""
    for path in Set(paths.values).sorted() {
      let lines = PAMStack.Kind.allCases.filter { paths[$0] == path }.map(PAMFix.line)
      var text = ""
      if case .text(let present) = root.content(path) { text = present }
      let isCut = !text.isEmpty && !text.hasSuffix("\n")
      outcome = outcome.changing(path, to: text + (isCut ? "\n" : "") + lines.map { $0 + "\n" }.joined())
      let words = (isCut ? [""] : []) + lines
      let next: ShellCommand = "printf '%s\\n' \(words: words) | sudo tee -a \(path) >/dev/null"
      command = command == "" ? next : "\(part: command) && \(part: next)"
    }
    return Candidate(command: command, outcome: outcome)
  }
}
