import ArgumentParser
import Glibc
import LatchkeyGettext
import LatchkeyPAMClient
import LatchkeySecretClient
import LatchkeySodium

/// The source of a new secret: standard input, or a person at the terminal. It is never an argument, which others can see.
struct SecretInput: ParsableArguments {
  /// The treatment of a line end behind the secret.
  enum Newline: String, ExpressibleByArgument, CaseIterable {
    case auto, keep, strip
  }

  static let explanation = translated(
    """
    The secret is read from standard input, byte by byte; on a terminal it is asked for twice. It is never an \
    argument. One line of text, as 'echo' writes it, is stored without its line end, unless you give --newline keep. \
    Anything else (more lines, binary data) is stored exactly as it came, unless --newline strip removes one line end \
    from it.
    """)

  @Option(help: .translated("What happens to the line end after the secret: auto (as above), keep, or strip."))
  var newline = Newline.auto

  /// The size of the largest secret that a vault takes, in bytes.
  private static let limit = 32 << 20

  /// Reads the secret from input or a person, and tells whether a line end was removed.
  ///
  /// - Parameter contentType: nil to guess it from the bytes.
  func read(contentType: String?) throws -> (secret: Secret, wasCut: Bool) {
    if isatty(STDIN_FILENO) == 1 { return (Secret(try Self.asked(), contentType: contentType), false) }
    let bytes = try Self.input()
    let isCut =
      switch newline {
      case .auto: Secret.isLine(bytes)
      case .keep: false
      case .strip: Secret.endsLine(bytes)
      }
    let count = bytes.count - (isCut ? 1 : 0)
    return (Secret(try bytes.prefix(count), contentType: contentType), isCut)
  }

  private static func asked() throws -> SecureBytes {
    let terminal = try TerminalConversation.asking(standardInput: false)
    var given: SecureBytes?
    let question = translated("New secret: ")
    RepeatedConversation(terminal, question: question).answer(.secret(question)) {
      given = try? SecureBytes(copying: $0.bytes)
    }
    guard let secret = given.take() else { throw Failure.cancelled }
    return secret
  }

  private static func input() throws -> SecureBytes {
    try StandardInput.read(
      limit: limit,
      orThrow: .declined(translated("the secret is too large for the vault: a secret has up to \(limit >> 20) MiB.")))
  }
}
