import LatchkeyDoctor

/// The change of a file by which the desktop starts a provider with each session.
enum AutostartChange: Equatable {
  /// The file starts the part for secrets and nothing else.
  case hide
  /// The file gets this command, which starts the other parts.
  case command(String)
  /// The file may start other programs, which are unknown.
  case unclear

  /// The parts of gnome-keyring that have nothing to do with secrets.
  static let otherParts = "--components=pkcs11,ssh"

  /// - Parameter hasParts: whether the provider also has parts that are not for secrets.
  init(_ command: String, of provider: Provider, hasParts: Bool) {
    guard hasParts else {
      self = .hide
      return
    }
    let parts = KeyringComponents(command)
    if let rest = parts?.commandWithoutSecrets {
      self = .command(rest)
    } else if !Self.isPlain(command, of: provider) {
      self = .unclear
    } else {
      // A command that names no part starts all parts.
      self = parts == nil ? .command("\(command) \(Self.otherParts)") : .hide
    }
  }

  /// Whether a command line is the provider's program with its options, without a shell or another program around it.
  private static func isPlain(_ command: String, of provider: Provider) -> Bool {
    guard let program = command.split(separator: " ").first, !command.contains(where: { ";|&<>$`".contains($0) }) else {
      return false
    }
    return provider.programs.contains { program == $0 || program.hasSuffix("/\($0)") }
  }
}
