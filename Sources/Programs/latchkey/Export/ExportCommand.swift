import ArgumentParser
import LatchkeyGettext

/// `latchkey export`
struct ExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: translated("Export your secrets from the vault to another program or into a file."),
    discussion: translated(
      """
      Nothing in the vault is changed. You are asked for your login password first, as all secrets leave at once. \
      Items whose class keeps them on this device and items that require more than an unlocked session are left out, \
      and listed with the reason; an option exports them too. Items that cannot be read now are left out as well.
      For a copy of the vault that stays encrypted, use 'latchkey backup'.
      Exit status 4: the export was done, but something was left out, or differs at the other place.

      Examples:
        latchkey export keepass Passwords.kdbx
        latchkey export service --owner org.gnome.keyring
        latchkey export json --plain vault.json
        latchkey export json - | gpg --encrypt -r me@example.org >vault.json.gpg
        latchkey export csv --dry-run passwords.csv
      """),
    subcommands: [
      ExportJSONCommand.self, ExportCSVCommand.self, ExportKeePassCommand.self, ExportServiceCommand.self,
    ])
}
