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
  var purpose: String {
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

  /// A name only for a host that proved its key in this login's session.
  private func host(of login: SigningSubject.Login) -> String? {
    guard let key = bindings.host(of: login) else { return login.hostFingerprint }
    if let name = KnownHosts(pid: asker.pid).name(of: key) {
      return "'\(PlainText.name(name))' (\(key.fingerprint))"
    }
    return key.fingerprint
  }

  private var way: String? {
    if bindings.isForwarded { return translated("The request comes from another machine, by agent forwarding.") }
    return bindings.isUnbound && !asker.isLocalTool
      ? translated("The program does not say whether the request comes from another machine.") : nil
  }

  var question: Question.Text {
    let name = PlainText.name(key.comment.isEmpty ? key.item.publicKey.fingerprint : key.comment)
    let program = PlainText.name(asker.name)
    let message =
      program.isEmpty
      ? translated("A program wants to use the ssh key '\(name)'.")
      : translated("The program '\(program)' wants to use the ssh key '\(name)'.")
    return Question.Text(
      message: message, detail: [purpose, way].compactMap { $0 }.joined(separator: " "), terminal: asker.terminal)
  }
}
