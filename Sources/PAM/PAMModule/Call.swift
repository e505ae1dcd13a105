import CLatchkeyHelper
import CLatchkeyPAMModule

/// One call of libpam, from the entry point to the log line.
///
/// The caller is login, sshd or a screen locker, and a locker that crashes leaves the screen unlocked. So nothing here may trap.
/// Arithmetic wraps (`&+`), and there are no arrays, no force unwraps and no conversions that check a range. The code reads memory
/// through pointers, and checks lengths first. The tests look for trap instructions in the built object.
struct Call {
  let handle: OpaquePointer
  let service: Service
  let options: Options
  /// The moment at which libpam called. The person gave the token before this moment. At open_session this moment counts, not the
  /// moment of the token, because the stack has accepted the login only now. A second factor may have taken long.
  private let begun = Moment.now

  /// nil if the module must do nothing: there is no handle, the service is excluded, or an option is invalid.
  ///
  /// - Parameter isForToken: whether a password is being changed. Services that begin no session may change passwords too.
  init?(
    handle: OpaquePointer?, count: Int32, arguments: UnsafeMutablePointer<UnsafePointer<CChar>?>?,
    isForToken: Bool = false
  ) {
    guard let handle, let name = Item.service.string(of: handle) else { return nil }
    let service = Service(name: name)
    guard isForToken || !service.isIgnored, let options = Options(count: count, arguments: arguments, handle: handle)
    else {
      return nil
    }
    self.handle = handle
    self.service = service
    self.options = options
  }

  /// Keeps the token for open_session, and lets the helper unlock the vault with it now.
  func authenticate() {
    let token = Item.token.text(of: handle, limit: Token.limit)
    guard !token.isEmpty else { return }
    guard token.count <= Token.limit else {
      logTooLong()
      return
    }
    let user = Item.user.text(of: handle)
    guard !user.isEmpty else { return }
    guard Token.keep(token, of: user, in: handle) else {
      Log.write(LOG_ERR, "no memory for the token", to: handle)
      return
    }
    guard service.isUnlock else {
      return runWithinBudget(.authenticate, token: Token.kept(of: user, in: handle))
    }
    // The application of `latchkey-unlock` has no other purpose, and expects a question to the person. The applications of a login
    // or a locker do not expect one.
    let outcome = run(
      .authenticate, prompt: Variable.promptNumber(of: handle), token: Token.kept(of: user, in: handle),
      until: Deadline(after: Budget.prompt), mayGoOn: false)
    if case .wrongPassword = outcome { askFormer() }
  }

  /// Asks for the former password or the recovery code, because the login password was changed without Latchkey. The present
  /// password then unlocks the vault from now on.
  private func askFormer() {
    // With `no_create` the token may not be a login password but, for example, a one-time code. Such a code must not become the
    // vault's password.
    guard !options.forbidsCreation, Variable.mayAskFormer(of: handle), let conversation = Conversation(of: handle)
    else { return }
    let news: Literal = "Your login password was changed without Latchkey. Enter the former password once."
    let question: Literal = "Former login password, or recovery code: "
    conversation.tell(news.cString)
    var triesLeft = 3
    while triesLeft > 0 {
      triesLeft = triesLeft &- 1
      // This builds the request before it asks the person, because a conversation may change libpam's items.
      guard var request = beginRequest(.rewrap, prompt: Variable.promptNumber(of: handle)) else { return }
      let token = Token.kept(of: Item.user.text(of: handle), in: handle)
      guard !token.isEmpty else { return }
      request.append(field: token)
      switch conversation.ask(question.cString, into: &request) {
      case .given: request.given(at: given(by: Moment.now))
      case .tooLong: return logTooLong()
      case .empty, .failed: return
      }
      guard let ending = send(request, until: Deadline(after: Budget.prompt), mayGoOn: false) else { return }
      guard case .answered(let outcome) = ending else { return report(ending) }
      guard case .wrongPassword = outcome, triesLeft > 0 else { return log(outcome.priority, outcome.rewrapText) }
      conversation.tell(("That does not unlock the vault. Try again." as Literal).cString, isError: true)
    }
  }

  /// Creates the vault. `latchkey-unlock` calls this after its whole stack has accepted the password, if there is no vault.
  func createVault() {
    guard service.isUnlock else { return }
    defer { Token.forget(in: handle) }
    let token = Token.kept(of: Item.user.text(of: handle), in: handle)
    // Nobody gave a password, or authenticate did not reach this line of the stack.
    guard !token.isEmpty else { return Log.write(LOG_WARNING, "no vault created: no password was given", to: handle) }
    guard var request = beginRequest(.createVault, prompt: Variable.promptNumber(of: handle)) else { return }
    request.append(field: token)
    guard let ending = send(request, until: Deadline(after: Budget.prompt), mayGoOn: false) else { return }
    guard case .answered(let outcome) = ending else { return report(ending) }
    log(outcome.creationPriority, outcome.creationText)
  }

  /// Tells the helper that a session opened. Adds the token if authenticate was called in this process for the same user.
  func openSession() {
    // A further session on the same handle will end separately, with a new budget.
    Budget.logout.renew(in: handle)
    let user = Item.user.text(of: handle)
    var token = Token.kept(of: user, in: handle)
    let before = Token.keptBefore(of: user, in: handle)
    var mayCreate = !Token.isFormer(in: handle)
    // The home folder with the vault may be mounted only now, so the new password is added now. If that fails again, the former
    // password unlocks the vault.
    if !before.isEmpty, !(change(to: token, from: before)?.takesNewPassword ?? false) {
      (token, mayCreate) = (before, false)
    }
    runWithinBudget(.openSession, token: token, mayCreate: mayCreate)
  }

  func closeSession() {
    runWithinBudget(.closeSession, token: .empty, of: .logout)
  }

  /// Handles a new password that the modules before this one have accepted. If it is empty, the login has no password any more.
  func changeToken() {
    guard let string = Item.token.string(of: handle) else { return }
    let old = Item.oldToken.text(of: handle, limit: Token.limit)
    let former = old.count <= Token.limit ? old : .empty
    guard string[0] != 0 else {
      return runWithinBudget(.removePassword, token: former)
    }
    let user = Item.user.text(of: handle)
    let kept = Token.kept(of: user, in: handle)
    let new = Text(string, limit: Token.limit)
    // A login with an expired password began with the former password. Not every module passes this password on, so the kept token
    // replaces it.
    let before = former.isEmpty ? kept : former
    let outcome = change(to: new, from: before)
    guard !kept.isEmpty else { return }
    // The session must open with the password that the vault knows. But only the new password may create a vault.
    guard let outcome, outcome.takesNewPassword || outcome.mayBeOtherLater else {
      return Token.becomesFormer(in: handle)
    }
    guard Token.keep(new, before: outcome.mayBeOtherLater ? before : .empty, of: user, in: handle) else {
      Log.write(LOG_ERR, "no memory for the token", to: handle)
      return Token.becomesFormer(in: handle)
    }
  }

  /// Adds a new password to the vault. Returns nil if the helper gave no answer.
  private func change(to new: Text, from former: Text) -> Outcome? {
    guard new.count <= Token.limit else {
      logTooLong()
      return nil
    }
    guard !former.isEmpty else {
      log(LOG_DEBUG, "the password is changed without the former one, which the vault keeps")
      return nil
    }
    guard var request = beginRequest(.changePassword, prompt: .empty) else { return nil }
    request.append(field: new)
    request.append(field: former)
    guard let ending = send(request, until: Deadline(after: Budget.change), mayGoOn: true) else { return nil }
    switch ending {
    case .answered(.servicesUnbelieved): report(ending)
    case .answered(let outcome):
      log(outcome.priority, outcome.changeText)
      return outcome
    default: report(ending)
    }
    return nil
  }

  /// Asks for the passphrase that a prompt of latchkeyd needs, and lets the helper unlock the collection with it. The passphrase
  /// has no other use: it becomes neither PAM_AUTHTOK nor a kept token.
  ///
  /// - Returns: the result for libpam. It is a success only if the collection is now unlocked.
  func passphrase() -> Int32 {
    guard service.mayAskPassphrase else {
      Log.write(LOG_ERR, "no passphrase asked for: not allowed in the service ", quoting: service.name, to: handle)
      return PAM_AUTHINFO_UNAVAIL
    }
    let prompt = Variable.promptNumber(of: handle)
    guard !prompt.isEmpty else {
      Log.write(LOG_ERR, "no passphrase asked for: LATCHKEY_PROMPT is not set, or not a number", to: handle)
      return PAM_AUTHINFO_UNAVAIL
    }
    guard let conversation = Conversation(of: handle) else { return PAM_CONV_ERR }
    // This builds the request before it asks the person, because a conversation may change libpam's items.
    guard var request = beginRequest(.passphrase, prompt: prompt) else { return PAM_AUTHINFO_UNAVAIL }
    let answer = PassphrasePrompt.withText(
      label: Variable.label.string(of: handle), caller: Variable.caller.string(of: handle)
    ) { conversation.ask($0, into: &request) }
    switch answer {
    case .given: break
    case .empty: return PAM_AUTH_ERR
    case .tooLong:
      logTooLong()
      return PAM_AUTH_ERR
    case .failed: return PAM_CONV_ERR
    }
    guard let ending = send(request, until: Deadline(after: Budget.prompt), mayGoOn: false) else {
      return PAM_AUTHINFO_UNAVAIL
    }
    guard case .answered(let outcome) = ending else {
      report(ending)
      return PAM_AUTHINFO_UNAVAIL
    }
    log(outcome.passphrasePriority, outcome.passphraseText)
    return outcome.passphraseResult
  }

  private func runWithinBudget(
    _ operation: HelperOperation, token: Text, mayCreate: Bool = true, of budget: Budget = .login
  ) {
    guard let left = budget.take(from: handle) else {
      Log.write(LOG_ERR, "no memory", to: handle)
      return
    }
    let reserve: Int64 = operation == .authenticate ? Budget.reserve : 0
    guard left > reserve else {
      budget.giveBack(left, to: handle)
      Log.write(LOG_WARNING, "this login's time for the vault is used up", to: handle)
      return
    }
    let deadline = Deadline(after: left &- reserve)
    _ = run(
      operation, prompt: .empty, token: token, mayCreate: mayCreate, until: deadline,
      // A removal must not continue after this call, because somebody may set a password meanwhile.
      mayGoOn: operation != .removePassword)
    budget.giveBack(deadline.left &+ reserve, to: handle)
  }

  /// Runs the helper. Returns its answer, or nil if there was none.
  private func run(
    _ operation: HelperOperation, prompt: Text, token: Text, mayCreate: Bool = true, until deadline: Deadline,
    mayGoOn: Bool
  ) -> Outcome? {
    guard var request = beginRequest(operation, prompt: prompt, mayCreate: mayCreate) else { return nil }
    request.append(field: token)
    guard let ending = send(request, until: deadline, mayGoOn: mayGoOn) else { return nil }
    report(ending)
    if case .answered(let outcome) = ending { return outcome }
    return nil
  }

  /// Builds a request up to the token; nil if there is no memory or no user.
  private func beginRequest(_ operation: HelperOperation, prompt: Text, mayCreate: Bool = true) -> Request? {
    let user = Item.user.text(of: handle)
    guard !user.isEmpty else { return nil }
    // At open_session the keys may come later: the login needs no vault for its next steps, and latchkeyd makes the session's
    // programs wait for the keys. A locker waits for the keys, because no session starts after it. A prompt waits too, because the
    // person wants to see the result.
    let flags = options.flags(mayCreate: mayCreate, isBeside: operation == .openSession)
    guard var request = Request(operation, flags: flags, given: given(by: begun)) else {
      Log.write(LOG_ERR, "latchkey-derive cannot be given a request: ", error: latchkey_errno(), to: handle)
      return nil
    }
    var number: UInt8 = 0
    while number < UInt8(truncatingIfNeeded: helper_field_count) {
      guard let field = HelperField(rawValue: number) else { return nil }
      request.append(field: field == .user ? user : text(of: field, prompt: prompt))
      number = number &+ 1
    }
    return request
  }

  /// The moment at which the person gave the password, which is `moment` at the latest. Latchkey's own applications know it more
  /// exactly, because the modules before this one may have taken long.
  private func given(by moment: UInt64) -> UInt64 {
    guard service.isUnlock else { return moment }
    let told = Variable.given(of: handle)
    return 0 < told && told < moment ? told : moment
  }

  private func text(of field: HelperField, prompt: Text) -> Text {
    switch field {
    case .user: Item.user.text(of: handle)
    case .service: Text(service.name, limit: Request.limit)
    case .TTY: Item.terminal.text(of: handle)
    case .remoteHost: Item.remoteHost.text(of: handle)
    case .home: options.home
    case .runtime: options.runtime
    case .shadow: options.shadow
    case .prompt: prompt
    case .services: options.services
    case .device: options.device
    @unknown default: .empty
    }
  }

  /// Sends a request to a new helper; nil if the request is too long.
  private func send(_ request: consuming Request, until deadline: Deadline, mayGoOn: Bool) -> Helper.Ending? {
    guard request.finish() else {
      Log.write(LOG_ERR, "the request is too long", to: handle)
      return nil
    }
    return Helper.answer(to: request, path: options.helper, until: deadline, mayGoOn: mayGoOn)
  }

  func log(_ priority: Int32, _ text: Literal) {
    if options.debug || priority != LOG_DEBUG { Log.write(priority, text, to: handle) }
  }

  func log(_ priority: Int32, _ text: Literal, quoting reason: Literal) {
    if options.debug || priority != LOG_DEBUG { Log.write(priority, text, quoting: reason.cString, to: handle) }
  }

  private func logTooLong() {
    Log.write(LOG_WARNING, "a token of more than 4096 bytes is not used", to: handle)
  }

  private func report(_ ending: Helper.Ending) {
    switch ending {
    case .answered(.servicesUnbelieved):
      Log.write(
        Outcome.servicesUnbelieved.priority, Outcome.servicesUnbelieved.text, quoting: options.servicesPath, to: handle)
    case .answered(let outcome):
      log(outcome.priority, outcome.text)
    case .garbled:
      Log.write(LOG_ERR, "latchkey-derive returned an invalid reply", to: handle)
    case .killed(let signal):
      Log.write(LOG_ERR, "latchkey-derive was killed by signal ", number: signal, to: handle)
    case .silent:
      Log.write(LOG_ERR, "latchkey-derive ended without an answer", to: handle)
    case .timedOut:
      Log.write(LOG_WARNING, "latchkey-derive did not answer in time", to: handle)
    case .notStarted(let error):
      Log.write(LOG_ERR, "latchkey-derive cannot be started: ", error: error, to: handle)
    }
  }
}
