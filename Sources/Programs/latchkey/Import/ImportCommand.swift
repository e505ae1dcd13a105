import ArgumentParser
import LatchkeyGettext

/// `latchkey import`
struct ImportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: translated("Bring the secrets of another program into the vault."),
    discussion: translated(
      """
      Nothing is changed at the old place. Labels, attributes, secrets and times arrive exactly as they are, as far \
      as the old place has them. The rules choose the class of each item (latchkey rules).
      An item that is in the vault with the same attributes and the same secret stays as it is, so a second import \
      stores nothing. If the secrets differ, --prefer says which stays. An import that was interrupted continues when \
      you run it again.
      Exit status 4: the import was done, but something stays behind, or differs.

      Examples:
        latchkey import gnome-keyring --dry-run
        latchkey import gnome-keyring
        latchkey import kwallet
        latchkey import service --owner org.gnome.keyring
        latchkey import csv passwords.csv
      """),
    subcommands: [
      ImportGNOMEKeyringCommand.self, ImportKWalletCommand.self, ImportOO7Command.self, ImportPassCommand.self,
      ImportKeePassCommand.self, ImportServiceCommand.self, ImportCSVCommand.self,
      ImportJSONCommand.self,
    ])
}
