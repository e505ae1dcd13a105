import LatchkeyGettext
import LatchkeyPrompters
import LatchkeySSHProtocol

/// The words for a person about a signature.
struct SignatureWording {
  let key: AgentKey
  let subject: SigningSubject
  let bindings: SessionBindings
  let asker: Asker

  /// The purpose, in one sentence.
  private var purpose: String {
    switch subject {
    case .login(let login):
      let user = PlainText.name(login.user)
      guard let host = host(of: login) else {
        return translated("It signs a login as '\(user)' at a host that the program does not name.")
      }
      return translated("It signs a login as '\(user)' at the host \(host).")
    case .file(let namespace):
      let name = PlainText.name(namespace)
      return namespace == "git"
        ? translated("It signs a git object, such as a commit.") : translated("It signs data for '\(name)'.")
    case .unknown: return translated("It signs data of a kind that Latchkey does not know.")
    }
  }

  /// The name of the host, if the host proved its key in this login's session. Otherwise its fingerprint.
  private func host(of login: SigningSubject.Login) -> String? {
    guard let key = bindings.host(of: login) else { return login.hostFingerprint }
    return host(key)
  }

  private func host(_ key: PublicKey) -> String {
    guard let name = KnownHosts(pid: asker.pid).name(of: key) else { return key.fingerprint }
    return "'\(PlainText.name(name))' (\(key.fingerprint))"
  }

  private var origin: RequestOrigin { RequestOrigin(bindings, asker) }

  private var way: String? {
    switch origin {
    case .here: nil
    case .elsewhere: translated("The request comes from another machine, by agent forwarding.")
    case .unknown: translated("The program does not say whether the request comes from another machine.")
    }
  }

  /// The longest name of a program in ``reason``, in characters. It has a limit because a program chooses its own name.
  private static let programLimit = 24

  /// The reason that the vault's own prompt shows for a key with requirements. The prompt shows 80 characters, so the origin comes
  /// first.
  var reason: String {
    let name = PlainText.name(String(asker.name.prefix(Self.programLimit)))
    let program = name.isEmpty ? translated("a program") : "'\(name)'"
    return switch origin {
    case .here: translated("For \(program): \(shortPurpose)")
    case .elsewhere: translated("By agent forwarding, for \(program): \(shortPurpose)")
    case .unknown: translated("Perhaps forwarded, for \(program): \(shortPurpose)")
    }
  }

  private var shortPurpose: String {
    switch subject {
    case .login(let login):
      let user = PlainText.name(login.user)
      guard let host = host(of: login) else { return translated("a login as '\(user)'") }
      return translated("a login as '\(user)' at \(host)")
    case .file(let namespace):
      let name = PlainText.name(namespace)
      return namespace == "git" ? translated("a git object") : translated("data for '\(name)'")
    case .unknown: return translated("data of an unknown kind")
    }
  }

  private var name: String { PlainText.name(key.comment.isEmpty ? key.item.publicKey.fingerprint : key.comment) }

  private var detail: String { [purpose, way].compactMap { $0 }.joined(separator: " ") }

  /// The sentences below a message that only names the key.
  private var detailOfProgram: String {
    let program = PlainText.name(asker.name)
    let wish =
      program.isEmpty
      ? translated("A program wants to use this key.") : translated("The program '\(program)' wants to use this key.")
    return "\(wish) \(detail)"
  }

  /// The words of the notice while a security key waits for a touch.
  var touch: Question.Text {
    Question.Text(
      message: translated("Touch your security key for the ssh key '\(name)'."), detail: detailOfProgram,
      terminal: asker.terminal, kind: .notice)
  }

  /// The words of the question for a security key's PIN.
  var pin: Question.Text {
    Question.Text(
      message: translated("Enter the PIN of your security key for the ssh key '\(name)'."), detail: detailOfProgram,
      terminal: asker.terminal, kind: .pin)
  }

  /// The question after an allowed request from a forwarding host. It never appears on a terminal. The host can write to the
  /// terminal too and cover the question, and any typed line would mean yes.
  func offer(of host: PublicKey) -> Question.Text {
    Question.Text(
      message: translated(
        "Allow every request that the host \(self.host(host)) forwards for the ssh key '\(name)', until the lock?"),
      detail: translated("Programs on that host can then sign with the key without asking you."),
      terminal: "", kind: .host)
  }

  var question: Question.Text {
    let program = PlainText.name(asker.name)
    let message =
      program.isEmpty
      ? translated("A program wants to use the ssh key '\(name)'.")
      : translated("The program '\(program)' wants to use the ssh key '\(name)'.")
    return Question.Text(message: message, detail: detail, terminal: asker.terminal)
  }
}
