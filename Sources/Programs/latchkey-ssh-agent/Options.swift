/// The arguments of latchkey-ssh-agent.
struct Options {
  /// Where to listen, if no service manager passes a socket.
  var socket: String?
  /// The program that asks in the place of this one.
  var promptProgram: String?
  /// The libraries that may speak to security keys, beside OpenSSH's own way.
  var providers = ""
  /// Whether this process asks one question, and is no agent.
  var asks = false
  /// The question of OpenSSH's that this process answers, as the program that `SSH_ASKPASS` names.
  var passphraseQuestion: String?

  static let usage = """
    usage: latchkey-ssh-agent [--socket PATH] [--prompt-program FILE] [-P PATTERNS]
           latchkey-ssh-agent --ask
           latchkey-ssh-askpass QUESTION

    The ssh agent whose keys are items of the Latchkey vault. Started by the user's service manager.
      --socket PATH          listen there, in the foreground
      --prompt-program FILE  what asks about a key: it reads the question from its standard input, and exits with 0 for yes
                             (default: latchkey-ssh-agent --ask)
      --providers PATTERNS   the libraries that may speak to security keys, beside OpenSSH's own way (default: none); also -P
      --ask                  ask one question, read from standard input

    As latchkey-ssh-askpass it is what SSH_ASKPASS names: it gives ssh the passphrase of a key file from the vault, or asks.
    """

  enum Failure: Error {
    case usage
    case help
  }

  /// Reads the arguments.
  init(_ arguments: [String]) throws(Failure) {
    if let name = arguments.first?.split(separator: "/").last, name == PassphraseProgram.name {
      guard arguments.count == 2, let question = arguments.last else { throw .usage }
      passphraseQuestion = question
      return
    }
    var rest = arguments.dropFirst()
    while let argument = rest.popFirst() {
      switch argument {
      case "--socket":
        guard let value = rest.popFirst(), value.hasPrefix("/") else { throw .usage }
        socket = value
      case "--prompt-program":
        guard let value = rest.popFirst(), value.hasPrefix("/") else { throw .usage }
        promptProgram = value
      case "-P", "--providers":
        guard let value = rest.popFirst() else { throw .usage }
        providers = value
      case "--ask": asks = true
      case "--help", "-h": throw .help
      default: throw .usage
      }
    }
  }
}
