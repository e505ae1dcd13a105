// latchkey-prompt: one prompt of the daemon, shown to the person.
//
// latchkeyd starts it as a unit of the user's service manager, one for each prompt. It connects to the
// control socket and takes the prompt by its number. It runs the PAM service of the prompt, and each
// question of the stack becomes a question to the person. Then it tells how the prompt ended, and
// exits.
//
//     latchkey-prompt NUMBER
//
// The file is arguments and wiring. The ways to ask are in Prompters, the steps and words in `PromptStep` and
// `PromptWording` there, and PAM in PAMClient. pam_latchkey.so, which is in the stack, hands an accepted password to
// `latchkey-derive`, which brings keys to the daemon. With a security key the program itself brings keys
// (`SecurityKeyWay`). With a finger the daemon has the keys itself (`FingerWay`).
//
// The program promises that a typed secret is in locked memory and erased at the end. It has one limit
// of time for the whole prompt, five minutes. A prompt that the daemon withdraws disappears from the
// screen. The person sees the question, and the program if the system can name it. The prompt also
// shows that an answer is being checked.
//
// It is not a part of the daemon because a person may take minutes, because libraries of prompters are
// large, and because PAM's setuid helper fails under the daemon's hardening. It derives no key and
// opens no item. It believes nothing that the client says about itself. It decides nothing: the daemon
// judges the answer, and checks that the shown facts still hold.

import Glibc
import LatchkeyControl
import LatchkeyGcrypt
import LatchkeyGettext
import LatchkeyItemProtection
import LatchkeyPAMClient
import LatchkeyPosix
import LatchkeyPrompters
import LatchkeySodium
import LatchkeySystemd

/// The time limit for the person in all. The time limit of the unit is a little longer.
private let personLimit = Duration.seconds(300)
/// The time limit for an answer of the daemon, in milliseconds.
private let daemonLimit = 5000
/// The number of tries that the person has. A passphrase that a program gave is tried once.
private let attempts = 3

/// Runs every step of the prompt. The first step that is not accepted ends the prompt.
///
/// - Parameter otherWay: the way to unlock the vault that the person may choose instead of the login password.
private func authenticate(
  _ request: PromptRequest, _ given: GivenPassphrase?, _ options: Options, _ prompter: PrompterChoice,
  _ deadline: PromptDeadline, _ otherWay: OtherWays?
) -> PromptEnd {
  let script = RunningScript.ask(about: request.interpreter, until: deadline)
  if request.purpose == .loginAdvice {
    let conversation = PromptConversation(
      prompter: prompter, wording: PromptWording(request, at: .unlock, script: script))
    return conversation.advise() ? .granted : conversation.end ?? .unavailable
  }
  let steps = PromptStep.steps(of: request)
  // A prompt without a question would not show that the person agrees.
  guard !steps.isEmpty else { return .unavailable }
  // A person who gave a passphrase has agreed, so no further question is needed.
  var wasSeen =
    !request.purpose.needsAgreement || (given != nil && steps.allSatisfy { $0.services == [.item] })
  for step in steps {
    var outcome = PromptEnd.unavailable
    for service in step.services where outcome == .unavailable {
      let own = service == .item ? given : nil
      let wording = PromptWording(
        request, at: service, mark: own == nil ? nil : Base64.encode(Sodium.randomBytes(18)), script: script,
        offers: otherWay?.offers ?? [:])
      let conversation = PromptConversation(prompter: prompter, wording: wording, given: own, otherWay: otherWay)
      if otherWay?.comesFirst == true {
        conversation.beginWithOtherWay()
        if let end = conversation.end { return end }
      }
      outcome = authenticate(
        service, conversation, wording, request, options, deadline, attempts: own == nil ? attempts : 1)
      wasSeen = wasSeen || conversation.wasSeen
    }
    guard outcome == .granted else { return outcome }
  }
  guard !wasSeen else { return .granted }
  let conversation = PromptConversation(
    prompter: prompter, wording: PromptWording(request, at: .presence, script: script))
  return conversation.confirm() ? .granted : conversation.end ?? .unavailable
}

/// Runs one PAM service until it accepts, or until the person gives no more answer.
private func authenticate(
  _ service: PromptStep.Service, _ conversation: PromptConversation, _ wording: PromptWording, _ request: PromptRequest,
  _ options: Options, _ deadline: PromptDeadline, attempts: Int
) -> PromptEnd {
  for attempt in 1...attempts {
    let outcome = Authentication.run(
      service: service.rawValue, user: options.account.name,
      terminal: request.terminal.isEmpty ? nil : request.terminal, folder: options.pamFolder,
      environment: wording.environment.merging(["LATCHKEY_PROMPT": "\(options.number)"]) { $1 },
      createsVault: request.purpose == .newVault,
      conversation: conversation)
    deadline.catchUp()
    if let end = conversation.end { return end }
    if outcome == .accepted { return .granted }
    if deadline.isOver { return .dismissed }
    switch outcome {
    case .refused where conversation.hasAnswer:
      if attempt < attempts { conversation.retry() }
    // PAM refused without a question, for example because the account is locked. Another try would end in the same way.
    case .refused(let text, _):
      Journal.log(.warning, "PAM asks nobody: \(text)")
      return .unavailable
    case .unavailable(let phrase):
      Journal.log(.warning, "PAM asks nobody: \(phrase.text)")
      return .unavailable
    case .accepted: break
    }
  }
  return .refused
}

/// The finger and the security key, if they can unlock the vault now.
private func otherWays(
  _ request: PromptRequest, _ options: Options, _ deadline: PromptDeadline, whenUnlocked: @escaping () -> Void
) -> OtherWays? {
  // This connection is separate, because the prompt's own connection has only messages about the prompt.
  guard let daemon = try? ControlClient(runtime: options.runtime, uid: options.account.uid),
    let status = try? daemon.ask(GetStatus(), until: Process.now + daemonLimit)
  else { return nil }
  return OtherWays(
    FingerWay(request, options, status, deadline, whenUnlocked: whenUnlocked),
    SecurityKeyWay(options, status, deadline, pins: attempts, whenUnlocked: whenUnlocked))
}

private func serve(_ options: Options) throws {
  Language.begin()
  try Process.forbidInspection()
  Process.overwriteFreedMemory()
  umask(0o077)
  try Sodium.initialize()
  try Gcrypt.initialize()
  Sodium.eraseWhenEnded(and: Gcrypt.eraseAll)
  let loop = try EventLoop()
  let deadline = PromptDeadline(loop: loop, limit: personLimit)
  let signals = try [SIGTERM, SIGINT, SIGHUP].map { try loop.addSignal($0) { deadline.giveUp() } }
  let client = try ControlClient(runtime: options.runtime, uid: options.account.uid)
  let request = try client.ask(ShowPrompt(options.number), until: Process.now + daemonLimit)
  let given = request.hasPassphrase ? try client.takePassphrase(until: Process.now + daemonLimit) : nil
  // The daemon sends nothing more on this connection. The connection's end withdraws the prompt.
  let end = try loop.addIO(fd: client.number, events: .readable) { _ in deadline.giveUp() }
  let prompter = PrompterChoice(
    desktop: Desktop { getenv($0).map { String(cString: $0) } }, terminal: request.terminal, windowID: request.window,
    deadline: deadline
  ) { place in
    // Without an answer, the daemon has ended.
    do { let _: Done = try client.ask(PlacePrompt(place), until: Process.now + daemonLimit) } catch {
      deadline.giveUp()
    }
  }
  let otherWay =
    request.purpose == .login
    ? otherWays(request, options, deadline) {
      prompter.end()
      try? client.tell(EndPrompt(.granted))
      // If the stack continued without an answer, it would fail, and pam_faillock would count a failure.
      exit(0)
    } : nil
  var outcome = withExtendedLifetime((signals, end)) {
    authenticate(request, given, options, prompter, deadline, otherWay)
  }
  // The daemon has not closed the connection, so the time limit ended the prompt.
  if outcome == .dismissed, deadline.isExpired { outcome = .expired }
  if deadline.isOver, outcome != .granted { prompter.tellWithdrawn() }
  prompter.end()
  if outcome == .unavailable { Journal.log(.warning, "nobody can be asked for prompt \(options.number)") }
  // A daemon that withdrew the prompt does not listen any more.
  try? client.tell(EndPrompt(outcome))
}

// This program may have started itself, to read the arguments of another process.
if RunningScript.answer(to: CommandLine.arguments) { exit(0) }
do {
  try serve(try Options(CommandLine.arguments))
} catch ProgramArguments.Failure.help {
  print(Options.usage)
} catch ProgramArguments.Failure.usage {
  print(Options.usage)
  exit(64)
} catch ProgramArguments.Failure.noAccount {
  Journal.log(.error, "this process belongs to no account")
  exit(1)
} catch {
  Journal.log(.error, "latchkey-prompt cannot ask: \(error)")
  exit(1)
}
