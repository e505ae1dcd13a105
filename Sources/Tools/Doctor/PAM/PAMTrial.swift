/// Goes through a stack as libpam does. Each module answers as it would for an ordinary person who types a password.
struct PAMTrial {
  /// The entries whose modules were called, in order.
  private(set) var called: [Int] = []
  /// Whether the service would accept the person.
  private(set) var isSuccess = false
  /// The entry that ended the stack before the rest, or the innermost substack with that entry.
  private(set) var lastWord: Int?

  /// Modules that ask for the password of an account, or take it.
  static let askers: Set<String> = [
    "pam_unix.so", "pam_unix2.so", "pam_unix_ng.so", "pam_tcb.so", "pam_sss.so", "pam_ldap.so", "pam_krb5.so",
    "pam_winbind.so", "pam_systemd_home.so", "pam_pwdfile.so", "pam_himmelblau.so", "pam_kanidm.so", "pam_authd.so",
    "pam_authd_exec.so", "pam_lsass.so", "pam_vas3.so", "pam_aad.so", "pam_userdb.so",
  ]

  private enum Impression { case undecided, positive, negative }

  /// The module that accepts the password.
  enum Acceptance: Equatable {
    /// The module of one entry; the others do not know the person.
    case entry(Int)
    /// No module accepts the password: the password is wrong.
    case none
    /// Every module succeeds, because no module checks a password, as in `session`.
    case every
  }

  /// Runs a stack.
  init(_ stack: PAMStack, accepting: Acceptance) {
    let entries = stack.entries
    var impression = Impression.undecided
    var before: [Int: Impression] = [:]
    var index = 0
    while index < entries.count {
      let entry = entries[index]
      if entry.isSubstack {
        before[entry.depth + 1] = impression
        index += 1
        continue
      }
      called.append(index)
      let answer = PAMTrial.answer(of: entry, at: index, accepting)
      let action = entry.control.action(for: answer)
      switch action {
      case .ignore: break
      case .ok, .done:
        if impression == .undecided { impression = answer == .success ? .positive : .negative }
        if action == .done, impression != .negative {
          lastWord = index
          index = PAMTrial.end(of: entries, from: index)
          continue
        }
      case .bad: impression = .negative
      case .die:
        impression = .negative
        lastWord = index
        index = PAMTrial.end(of: entries, from: index)
        continue
      case .reset: impression = before[entry.depth] ?? .undecided
      case .jump(let count):
        guard let next = PAMTrial.jump(over: count, in: entries, from: index) else {
          // libpam refuses everybody then.
          impression = .negative
          break
        }
        index = next
        continue
      }
      index += 1
    }
    isSuccess = impression == .positive
  }

  /// The place after the substack that contains an entry.
  private static func end(of entries: [PAMStack.Entry], from index: Int) -> Int {
    var next = index + 1
    while next < entries.count && entries[next].depth >= entries[index].depth { next += 1 }
    return next
  }

  /// The target of a jump, which counts a substack as one line. Nil if there are fewer lines, because no jump leads out of a stack.
  private static func jump(over count: Int, in entries: [PAMStack.Entry], from index: Int) -> Int? {
    let depth = entries[index].depth
    var next = index + 1
    for _ in 0..<count {
      guard next < entries.count, entries[next].depth >= depth else { return nil }
      next += 1
      while next < entries.count && entries[next].depth > depth { next += 1 }
    }
    return next
  }

  private static func answer(of entry: PAMStack.Entry, at index: Int, _ accepting: Acceptance) -> PAMAnswer {
    if accepting == .entry(index) { return .success }
    switch entry.module {
    case "pam_permit.so", "pam_localuser.so", "pam_nologin.so", "pam_shells.so": return .success
    case "pam_latchkey.so", "pam_selinux_permit.so": return .ignore
    case "pam_deny.so", "pam_rootok.so": return .refused
    case "pam_faillock.so" where entry.options.contains("authfail"): return .refused
    // The entry comes after the right password, so it is no shortcut, even if its control looks like one.
    case "pam_faillock.so" where entry.options.contains("authsucc"): return .success
    case "pam_usertype.so" where entry.options.contains("isregular"): return .success
    case let module where askers.contains(module) && accepting != .every:
      return accepting == .none ? .refused : .stranger
    // A shortcut is another way to log in, or a test that fails for most services or users.
    default: return entry.control.isShortcut ? .unavailable : .success
    }
  }
}
