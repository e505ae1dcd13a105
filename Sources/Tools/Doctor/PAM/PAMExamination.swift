import LatchkeyGettext

/// Checks the PAM files: whether logins, lockers and changes of passwords reach the module.
struct PAMExamination {
  let root: SystemRoot
  /// Whether an administrator turned Latchkey off for all users, so that no stack needs the module.
  var isOff = false

  /// A problem with one kind of line of one service.
  struct Problem: Equatable {
    let kind: PAMStack.Kind
    let condition: Finding.Condition
    let text: String
  }

  /// One finding for each service that matters.
  func findings() -> [Finding] {
    var findings: [Finding] = []
    var logins = 0
    for name in PAMStack.services(in: root) {
      let service = PAMService(name, in: root)
      if service == .login || service == .likeLogin { logins += 1 }
      if let finding = finding(of: name, service) { findings.append(finding) }
    }
    if logins == 0 {
      findings.append(.unknown("pam", translated("no service for logins was found in \(PAMStack.folders[0])")))
    }
    return findings
  }

  /// Which kinds of lines a service should have.
  static func kinds(of service: PAMService) -> [PAMStack.Kind] {
    switch service {
    case .login, .likeLogin: [.auth, .session, .password]
    case .locker: [.auth]
    case .passwordless: [.session]
    case .change: [.password]
    case .nobody, .other: []
    }
  }

  private func finding(of name: String, _ service: PAMService) -> Finding? {
    let id = "pam.\(name)"
    if service == .nobody { return uselessLine(name) }
    let kinds = PAMExamination.kinds(of: service)
    if kinds.isEmpty { return nil }
    var problems: [Problem] = []
    do throws(PAMStack.Trouble) {
      for kind in kinds { problems += try self.problems(name, kind, service) }
    } catch {
      if case .unreadable = error { return .unknown(id, error.description) }
      return Finding(
        id, .broken, translated("\(error.description), so nobody can log in with this service"),
        fix: .advice(translated("Correct that file.")))
    }
    let worst = problems.map(\.condition).max() ?? .ok
    if worst == .ok {
      let remarks = problems.map { "; \($0.text)" }.joined()
      return .ok(id, translated("in the right place in \(PAMExamination.list(kinds.map(\.rawValue)))\(remarks)"))
    }
    let texts = problems.filter { $0.condition != .ok }.map(\.text).joined(separator: "; ")
    if isOff { return Finding(id, worst, texts).whileOff }
    let fixes = PAMFix(root: root)
    let fix = worst == .unknown ? nil : fixes.fix(name, service, problems)
    return Finding(id, worst, texts, fix: fix, remark: fix.flatMap(fixes.remark))
  }

  static func list(_ words: [String]) -> String {
    guard words.count > 1 else { return words.joined() }
    let (list, last) = (words.dropLast().joined(separator: ", "), words[words.count - 1])
    return translated("\(list) and \(last)")
  }

  /// The module ignores these services by name. A line in a file that they share with logins must stay.
  private func uselessLine(_ name: String) -> Finding? {
    guard let path = PAMStack.path(of: name, in: root) else { return nil }
    let hasLine = PAMStack.Kind.allCases.contains { kind in
      (try? PAMStack(name, kind, in: root))?.entries.contains { $0.isOurs && $0.file == path } ?? false
    }
    guard hasLine else { return nil }
    return Finding(
      "pam.\(name)", .warning, translated("pam_latchkey.so is in \(path), but nobody logs in by this service"),
      fix: .command("sudo sed -i '/pam_latchkey\\.so/d' \(path)"))
  }

  // MARK: - one kind of line

  /// The problems with the lines of one kind; throws if they cannot be followed.
  func problems(_ name: String, _ kind: PAMStack.Kind, _ service: PAMService) throws(PAMStack.Trouble) -> [Problem] {
    let stack = try PAMStack(name, kind, in: root)
    let problems =
      switch kind {
      case .auth: auth(stack)
      case .session: session(stack, isPasswordless: service == .passwordless)
      case .password: password(stack, isChange: service == .change)
      }
    // A service that only looks like a login may be another kind of service, so its problems are warnings.
    return service != .likeLogin
      ? problems : problems.map { Problem(kind: $0.kind, condition: .warning, text: $0.text) }
  }

  private func auth(_ stack: PAMStack) -> [Problem] {
    func problem(_ condition: Finding.Condition, _ text: String) -> [Problem] {
      [Problem(kind: .auth, condition: condition, text: text)]
    }
    let entries = stack.entries
    guard let ours = entries.firstIndex(where: \.isOurs) else {
      return problem(.broken, translated("not in auth, so the password does not unlock the vault"))
    }
    let askers = entries.indices.filter { entries[$0].isAsker }
    if askers.isEmpty {
      return problem(.unknown, translated("in auth, but it is not known which module asks for the password"))
    }
    var missed: [String] = []
    var asked = 0
    for asker in askers {
      let trial = PAMTrial(stack, accepting: .entry(asker))
      guard let place = trial.called.firstIndex(of: asker), trial.isSuccess else { continue }
      asked += 1
      let reached = trial.called.indices.filter { entries[trial.called[$0]].isOurs }
      if let first = reached.first, first < place {
        return problem(.broken, translated("in auth before \(entries[asker].module), which asks for the password"))
      }
      if reached.isEmpty {
        let end = trial.lastWord.map { entries[$0].module } ?? translated("the line before")
        missed.append(translated("in auth after \(end), which ends the stack when \(entries[asker].module) accepts"))
      }
    }
    if asked == 0 { return problem(.unknown, translated("in auth, but doctor does not understand these lines")) }
    if !missed.isEmpty {
      return problem(missed.count == asked ? .broken : .warning, missed.joined(separator: "; "))
    }
    if PAMTrial(stack, accepting: .none).called.contains(where: { entries[$0].isOurs }) {
      // If the asking module is in a substack, as on Fedora, no line in there can stop the outer stack.
      let isBounded = askers.allSatisfy { entries[$0].depth > entries[ours].depth }
      return problem(
        isBounded ? .ok : .warning,
        translated(
          """
          wrong passwords reach the line in \(entries[ours].file) too; each costs time and adds a line to the log
          """))
    }
    return []
  }

  private func session(_ stack: PAMStack, isPasswordless: Bool) -> [Problem] {
    func problem(_ condition: Finding.Condition, _ text: String) -> [Problem] {
      [Problem(kind: .session, condition: condition, text: text)]
    }
    let entries = stack.entries
    guard entries.contains(where: \.isOurs) else {
      return isPasswordless
        ? problem(.warning, translated("not in session, so the vault does not notice such a login"))
        : problem(
          .broken, translated("not in session, so the login creates no vault, and the vault does not notice the logout")
        )
    }
    let trial = PAMTrial(stack, accepting: .every)
    guard let ours = trial.called.firstIndex(where: { entries[$0].isOurs }) else {
      let end = trial.lastWord.map { entries[$0].module } ?? translated("the line before")
      return problem(.broken, translated("in session after \(end), which ends the stack"))
    }
    // Some files have a second pam_systemd.so. It does nothing, because the session exists already.
    let hasSession = trial.called[..<ours].contains { entries[$0].module == "pam_systemd.so" }
    let late = trial.called[ours...].map { entries[$0] }.first {
      $0.bringsHome || ($0.module == "pam_systemd.so" && !hasSession)
    }
    if let late { return problem(.broken, translated("in session before \(late.module), but must come after it")) }
    if !hasSession {
      return problem(
        .warning, translated("no pam_systemd.so in session, so the login starts no user manager and no latchkeyd"))
    }
    return []
  }

  private func password(_ stack: PAMStack, isChange: Bool) -> [Problem] {
    func problem(_ text: String) -> [Problem] {
      [Problem(kind: .password, condition: isChange ? .broken : .warning, text: text)]
    }
    let entries = stack.entries
    let askers = entries.indices.filter { entries[$0].isAsker }
    // A service without such a line changes no password.
    if askers.isEmpty { return [] }
    guard entries.contains(where: \.isOurs) else {
      return problem(translated("not in password, so a password that is changed there does not unlock the vault"))
    }
    var missed: [String] = []
    var asked = 0
    for asker in askers {
      let trial = PAMTrial(stack, accepting: .entry(asker))
      guard let place = trial.called.firstIndex(of: asker) else { continue }
      asked += 1
      guard let ours = trial.called.firstIndex(where: { entries[$0].isOurs }) else {
        missed.append(entries[asker].module)
        continue
      }
      if ours < place {
        return problem(translated("in password before \(entries[asker].module), but must come after it"))
      }
    }
    if !missed.isEmpty && missed.count == asked {
      return problem(translated("in password after \(PAMExamination.list(missed)), which ends the stack"))
    }
    if !missed.isEmpty {
      // sssd's own line is like that.
      let text = translated("the vault does not notice a password that \(PAMExamination.list(missed)) changes")
      return [Problem(kind: .password, condition: .ok, text: text)]
    }
    return []
  }
}
