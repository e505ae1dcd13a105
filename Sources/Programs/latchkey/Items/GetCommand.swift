import ArgumentParser
import Glibc
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySecretClient
import LatchkeySodium
import LatchkeySystemd

/// `latchkey get`
struct GetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: translated("Write the secret of one item to standard output, byte by byte."),
    discussion: translated(
      """
      It writes to a terminal only with --show. If the item is locked, you are asked to unlock it, as with any other program.

      Examples:
        latchkey get service=mail user=me | wl-copy
        latchkey get login/5 >key.pem
        latchkey get --show service=mail user=me
        latchkey get --json --show login/5
      """))

  @OptionGroup var place: DaemonPlace
  @OptionGroup var prompts: PromptChoice
  @Flag(help: .translated("Show the secret: on a terminal, or among the JSON.")) var show = false
  @Flag(help: .translated("As JSON, with the same keys in every version; without --show everything but the secret."))
  var json =
    false
  @Argument(help: ItemSelector.help) var item: [String]

  func validate() throws {
    if case .paths(let paths) = try ItemSelector(item), paths.count > 1 {
      throw ValidationError(translated("One item at a time."))
    }
  }

  func run() throws {
    try Failure.telling {
      if StandardStream.output.isTerminal && !show && !json {
        throw Failure.declined(
          translated("a secret is shown on a terminal only with --show. Or send it elsewhere: latchkey get … | wl-copy")
        )
      }
      // The secret is in this process for a moment.
      try LatchkeyPosix.Process.forbidInspection()
      try Sodium.initialize()
      let connection = try VaultConnection(place)
      let found = try ItemSelector(item).item(from: connection)
      if json && !show {
        return print(try ListedItem.described([found], from: connection).map { try JSONText.of($0) }.joined())
      }
      let channel = try connection.openChannel()
      let secret = try connection.opening(found.path, asking: !prompts.isForbidden) {
        try connection.secret(of: found.path, by: channel)
      }
      if json {
        // The item is read again, because it may have been locked before.
        let item = try ListedItem.described([try ListedItem(found.path, from: connection)], from: connection)
        for item in item { try JSONText.write(item, secret) }
        return
      }
      guard StandardStream.output.isTerminal else {
        return try secret.withBytes { try StandardStream.output.write($0) }
      }
      guard secret.isPrintable else {
        throw Failure.declined(
          translated("the secret is not text, and could control the terminal. Send it to a file, or use --json --show.")
        )
      }
      try secret.withBytes { try StandardStream.output.write($0) }
      try StandardStream.output.write("\n")
    }
  }
}

extension VaultConnection {
  /// An item's secret.
  func secret(of path: String, by channel: SecretChannel) throws(BusError) -> Secret {
    try call(path, Self.item, "GetSecret") {
      $0.appendObjectPath(channel.path)
    } read: { (answer: Message) throws(BusError) in
      try channel.read(from: answer)
    }
  }
}
