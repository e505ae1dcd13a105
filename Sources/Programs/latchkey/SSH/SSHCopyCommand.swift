import ArgumentParser
import Glibc
import LatchkeyGettext
import LatchkeyPosix

/// `latchkey ssh copy-id`
struct SSHCopyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "copy-id", abstract: translated("Let a key log in at a host, by ssh-copy-id."),
    discussion: translated(
      """
      ssh-copy-id logs in with a password or another key, as you do until now, and adds the public key to the host's \
      authorized_keys. It first tries to log in with the key, and adds nothing if that works. Options for ssh-copy-id \
      follow after '--'.

      Examples:
        latchkey ssh copy-id me@example.com server
        latchkey ssh copy-id me@example.com anna@server -- -p 2222
      """))

  @OptionGroup var place: DaemonPlace
  @Argument(help: SSHCommand.keyHelp) var key: String
  @Argument(help: ArgumentHelp(translated("The host, as ssh takes it."), valueName: "user@host")) var host: String
  @Argument(
    parsing: .postTerminator, help: ArgumentHelp(translated("Options for ssh-copy-id."), valueName: "option"))
  var options: [String] = []

  func validate() throws {
    guard !host.hasPrefix("-"), !host.isEmpty else { throw ValidationError(translated("Give the host.")) }
  }

  func run() throws {
    let status = try Failure.telling {
      let found = try ListedKey.named(key, from: try VaultConnection(place))
      let line = Array((found.key.publicKey.line(comment: found.item.label ?? "") + "\n").utf8)
      Interruption.hold()
      defer { Interruption.release() }
      let publicFile = try PrivateFolder(in: place.folder, for: "ssh", file: "key.pub")
      try publicFile.write(line.span.bytes)
      // ssh-copy-id requires a private key file beside the public one. ssh accepts a public key in that file too, and then uses the
      // agent's key.
      let name = String(publicFile.file.dropLast(".pub".utf8.count))
      try FileDescriptor.open(name, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600).writeAll(
        line.span.bytes)
      defer { unlink(name) }
      return try Self.run(["ssh-copy-id", "-i", publicFile.file] + options + [host])
    }
    guard status == 0 else { throw ExitCode(1) }
  }

  /// Runs a program to its end, with this program's input, output and environment.
  ///
  /// - Returns: the program's status, in the form of waitpid(2).
  private static func run(_ command: [String]) throws -> Int32 {
    var words = command.map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var child: pid_t = 0
    let status = posix_spawnp(&child, command[0], nil, nil, &words, environ)
    guard status == 0 else {
      throw Failure.declined(
        translated("the program \(command[0]) cannot be run: \(String(cString: strerror(status)))."))
    }
    var end: Int32 = 0
    while waitpid(child, &end, 0) < 0 && errno == EINTR {}
    return end
  }
}
