import Glibc
import LatchkeyGettext
import LatchkeyPosix
import LatchkeyPrompters
import LatchkeyPrompts
import LatchkeySSHProtocol
import LatchkeySodium
import LatchkeySystemd

/// The program that `SSH_ASKPASS` names. It gives OpenSSH the passphrase of a key file from the vault. If the vault lacks the
/// passphrase, or if OpenSSH has another question, it asks the person.
public enum PassphraseProgram {
  /// The name under which this program answers OpenSSH.
  public static let name = "latchkey-ssh-askpass"
  /// The number of passphrases that the person may type.
  private static let tries = 3

  /// Answers one question.
  ///
  /// - Returns: the exit status: 0 with the answer on standard output, 1 without an answer.
  public static func run(_ question: String) -> Int32 {
    if let status = FilePassphrase.handOver() { return status }
    Language.begin()
    guard let loop = try? EventLoop() else { return 1 }
    let deadline = PromptDeadline(loop: loop, limit: QuestionQueue.personLimit)
    let signals = [SIGTERM, SIGINT, SIGHUP].map { try? loop.addSignal($0) { deadline.giveUp() } }
    let prompter = PrompterChoice(
      desktop: Desktop { getenv($0).map { String(cString: $0) } }, terminal: Caller(pid: getpid()).terminal,
      windowID: "",
      deadline: deadline)
    defer { prompter.end() }
    return withExtendedLifetime(signals) {
      if getenv("SSH_ASKPASS_PROMPT") == nil, let file = FilePassphrase(question: question) {
        return answer(about: file, prompter)
      }
      return pass(question, prompter)
    }
  }

  /// Asks the person OpenSSH's question unchanged.
  private static func pass(_ question: String, _ prompter: PrompterChoice) -> Int32 {
    // OpenSSH puts the consequence last, after names that a stranger may have chosen. So the question must not be cut.
    guard let shown = PlainText.lines(question) else {
      Journal.log(.warning, "\(name): the question of ssh is too long to be shown whole, so nobody was asked")
      return 1
    }
    var text = PromptText(
      title: translated("SSH"), message: shown, label: translated("Answer:"), button: translated("OK"),
      isVisible: HostKeyQuestion.matches(question))
    // Without a hint the person types the answer. OpenSSH's hints are "confirm" for a question and "none" for a message.
    text.isConfirmation = getenv("SSH_ASKPASS_PROMPT") != nil
    guard case .given(let bytes) = prompter.ask(text) else { return 1 }
    return text.isConfirmation || FilePassphrase.put(bytes.bytes) ? 0 : 1
  }

  private static func answer(about file: FilePassphrase, _ prompter: PrompterChoice) -> Int32 {
    let program = "\(LatchkeyPosix.Process.folder)/\(name)"
    let stored = StoredPassphrase(of: file)
    if let secret = stored?.read() {
      let isGiven = secret.withBytes { bytes in
        bytes.byteCount <= FilePassphrase.limit && file.isRight(bytes, program: program) && FilePassphrase.put(bytes)
      }
      if isGiven { return 0 }
    }
    let shown = PlainText.name(file.path)
    var text = PromptText(
      title: translated("SSH key"), message: translated("ssh needs the passphrase of the key file '\(shown)'."),
      label: translated("Passphrase:"), button: translated("OK"))
    for _ in 0..<tries {
      guard case .given(let bytes) = prompter.ask(text) else { return 1 }
      guard bytes.count <= FilePassphrase.limit, file.isRight(bytes.bytes, program: program) else {
        text.warning = translated("The passphrase was wrong.")
        continue
      }
      if let stored { keep(bytes.bytes, stored, shown, prompter) }
      return FilePassphrase.put(bytes.bytes) ? 0 : 1
    }
    return 1
  }

  private static func keep(
    _ passphrase: RawSpan, _ stored: StoredPassphrase, _ shown: String, _ prompter: PrompterChoice
  ) {
    var question = PromptText(
      title: translated("SSH key"), message: translated("Keep the passphrase of '\(shown)' in the vault?"),
      detail: translated("Programs of yours can read it while the vault is unlocked."), label: "",
      button: translated("Keep"))
    question.isConfirmation = true
    if case .given = prompter.ask(question) { _ = stored.store(passphrase) }
  }
}
