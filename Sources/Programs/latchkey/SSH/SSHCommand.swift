import ArgumentParser
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeySSHProtocol

/// `latchkey ssh`
struct SSHCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ssh", abstract: translated("Create, import and list ssh keys of the vault."),
    discussion: translated(
      """
      The ssh agent (the package latchkey-ssh-agent) signs with these keys. A key is an item of the vault: 'latchkey edit' \
      changes its class. A key is named by its fingerprint, by its comment, or by where it is (as login/5).

      Examples:
        latchkey ssh generate me@example.com
        latchkey ssh add ~/.ssh/id_ed25519
        latchkey ssh list
        latchkey ssh public me@example.com >>~/.ssh/allowed_signers
        latchkey ssh edit --ask always me@example.com
        latchkey ssh copy-id me@example.com server
      """),
    subcommands: [
      SSHGenerateCommand.self, SSHAddCommand.self, SSHListCommand.self, SSHPublicCommand.self, SSHEditCommand.self,
      SSHRemoveCommand.self, SSHCopyCommand.self,
    ])

  static let keyHelp = ArgumentHelp(
    translated("The key: its fingerprint, its comment, or where it is, as 'latchkey ssh list' shows them."),
    valueName: "key")
  static let askHelp = ArgumentHelp(
    translated("When a signature asks you: never, once until the lock, or always."),
    discussion: translated(
      """
      By default once. A request that comes from another machine, or does not say where it comes from, always asks.
      """),
    valueName: "when")
}

extension KeyItem.Asking: ExpressibleByArgument {}

/// The options of a new key.
struct SSHKeyOptions: ParsableArguments {
  @Option(help: SSHCommand.askHelp) var ask = KeyItem.Asking.once
  @Option(
    name: .customLong("class"), help: ArgumentHelp(AccessibilityClass.help, valueName: "class"),
    completion: AccessibilityClass.completion)
  var className: String?
  @Option(
    help: ArgumentHelp(
      translated("What each signature requires, beside an unlocked session."), discussion: AccessControl.help,
      valueName: "what"))
  var require: String?

  func validate() throws {
    _ = try AccessibilityClass.option(className)
    _ = try AccessControl.option(require)
  }
}
