import ArgumentParser
import LatchkeyGettext

/// `latchkey history`
struct HistoryCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: translated("List former states of the vault, and bring items back from them."),
    discussion: translated(
      """
      The vault keeps generations: copies of itself, one for each hour, day and week in which something changed. A generation \
      is protected by the same keys as the vault.
      Exit status 4: it was done, but something stays behind, or differs.

      Examples:
        latchkey history
        latchkey history diff
        latchkey history restore 12 service=mail
        latchkey history restore 12 --everything --dry-run
      """),
    subcommands: [
      HistoryListCommand.self, HistoryDiffCommand.self, HistoryRestoreCommand.self, HistoryMakeCommand.self,
    ], defaultSubcommand: HistoryListCommand.self)
}
