import LatchkeySystemd

/// The arguments of latchkey-ssh-agent.
struct Options {
  /// The path at which to listen if the service manager passed no socket.
  var socket: String?
  /// The program that asks the person instead of this program.
  var promptProgram: String?
  /// The libraries that may use security keys, besides OpenSSH's own.
  var providers = ""
  /// Whether this process only asks one question and ends.
  var asks = false
  /// The question of OpenSSH, if OpenSSH started this process by `SSH_ASKPASS`.
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

  /// Reads the arguments.
  init(_ arguments: [String]) throws(ProgramArguments.Failure) {
    if let name = arguments.first?.split(separator: "/").last, name == PassphraseProgram.name {
      guard arguments.count == 2, let question = arguments.last else { throw .usage }
      passphraseQuestion = question
      return
    }
    var rest = ProgramArguments(arguments)
    while let argument = try rest.next() {
      switch argument {
      case "--socket": socket = try rest.path()
      case "--prompt-program": promptProgram = try rest.path()
      case "-P", "--providers": providers = try rest.value()
      case "--ask": asks = true
      default: throw .usage
      }
    }
  }
}
