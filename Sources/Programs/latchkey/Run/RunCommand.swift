import ArgumentParser
import CLatchkeyLinux
import Glibc
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySecretClient
import LatchkeySodium
import LatchkeySystemd

/// `latchkey run`
struct RunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: translated("Give secrets to one command."),
    discussion: translated(
      """
      The command gets each secret in a variable of its environment, or in a file whose path is in a variable. The \
      files are in a folder in memory that only you can read, and are deleted when the command ends. Signals and the \
      exit status pass through.

      Without --env and --file, the file .latchkey.yaml of this folder says what the command gets. You are asked once \
      before such a file is used, and again when it has changed.

      Programs of yours can read what the command got, also after the vault was locked.

      Examples:
        latchkey run --env TOKEN=service=github,user=me -- gh pr list
        latchkey run --file KEY=service=deploy -- sh -c 'deploy --key "$KEY"'
        latchkey run -- make release
      """))

  @OptionGroup var place: DaemonPlace
  @OptionGroup var prompts: PromptChoice
  @Option(
    help: ArgumentHelp(
      translated("Set a variable of the environment to the secret of the item with these attributes."),
      valueName: "variable=name=value"))
  var env: [String] = []
  @Option(
    help: ArgumentHelp(
      translated("Set a variable to the path of a file that has the secret of the item with these attributes."),
      valueName: "variable=name=value"))
  var file: [String] = []
  @Argument(
    parsing: .postTerminator, help: ArgumentHelp(translated("The command and its arguments."), valueName: "command"))
  var command: [String]

  func validate() throws {
    guard !command.isEmpty else { throw ValidationError(translated("Give a command after '--'.")) }
    _ = try wanted()
  }

  private func wanted() throws -> [RunRequest] {
    try env.map { try RunRequest(word: $0, isFile: false) } + file.map { try RunRequest(word: $0, isFile: true) }
  }

  func run() throws {
    try Failure.telling {
      // No core dump has this process's memory, and no other process reads it. The command may have core dumps again.
      _ = linux_set_dumpable(0)
      try Sodium.initialize()
      var requests = try wanted()
      let project = requests.isEmpty ? try ProjectFile() : nil
      if let project { requests = project.requests }
      let connection = try VaultConnection(place)
      let items = try requests.map { request in
        guard let item = try ItemSelector.found(request.attributes, from: connection).first else {
          throw Failure.noItem(translated("no item has the attributes for \(request.variable)."))
        }
        return item
      }
      try project?.approve(items.map(\.title), command: command)
      if !prompts.isForbidden { try connection.unlock(Array(Set(items.map(\.path))), reason: reason) }
      let channel = try connection.openChannel()
      // Reads all secrets before the first file is written.
      let secrets = try items.map { item in
        try connection.opening(item.path, asking: false) { try connection.secret(of: item.path, by: channel) }
      }
      var child = CommandEnvironment(runtime: place.folder)
      for (request, secret) in zip(requests, secrets) { try child.add(secret, request) }
      try child.run(command)
    }
  }

  /// The reason that a prompt shows.
  private var reason: String {
    let words = command.joined(separator: " ")
    return translated("for the command '\(words)'")
  }
}

/// One secret that a command gets.
struct RunRequest: Equatable {
  let variable: String
  let attributes: [String: String]
  let isFile: Bool

  init(variable: String, attributes: [String: String], isFile: Bool) throws {
    guard !attributes.isEmpty,
      variable.utf8.enumerated().allSatisfy({ place, byte in
        byte == 0x5f || (0x61...0x7a).contains(byte | 0x20) || place > 0 && (0x30...0x39).contains(byte)
      }), !variable.isEmpty
    else {
      throw ValidationError(
        translated("Name a secret by a variable and attributes, as TOKEN=service=github,user=me."))
    }
    (self.variable, self.attributes, self.isFile) = (variable, attributes, isFile)
  }

  /// Reads NAME=ATTRIBUTE=VALUE,…
  init(word: String, isFile: Bool) throws {
    let parts = word.split(separator: "=", maxSplits: 1)
    let words = parts.count == 2 ? parts[1].split(separator: ",").map(String.init) : []
    try self.init(
      variable: parts.first.map { String($0) } ?? "", attributes: try ItemAttributes(words).values, isFile: isFile)
  }
}
