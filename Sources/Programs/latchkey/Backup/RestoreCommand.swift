import ArgumentParser
import Glibc
import LatchkeyBackup
import LatchkeyBackupControl
import LatchkeyControl
import LatchkeyGettext
import LatchkeyPosix

/// `latchkey restore`
struct RestoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: translated("Bring the items of a backup into the vault, on this machine or another one."),
    discussion: translated(
      """
      The vault must be unlocked. An item that the vault has already, in the same collection with the same attributes \
      and secret, stays as it is. If the backup has another secret for an item, the vault's secret stays, and the \
      item is listed; --theirs takes the backup's secret. Items of the classes …-this-device-only are restored only \
      on the device that made the backup. Collections that the restore creates have no passphrase. The whole file is \
      read first: nothing is restored from a damaged or truncated file. Exit status 4: the backup was restored, but \
      something stays behind, or differs.
      """))

  @OptionGroup var place: DaemonPlace
  @OptionGroup var passphrase: ArchivePassphrase
  @Flag(help: .translated("Take the backup's secret for an item that has the same attributes and another secret."))
  var theirs = false
  @Flag(help: .translated("Say what would be restored and what would not, and change nothing."))
  var dryRun = false
  @Flag(help: .translated("Report as JSON, with the same keys in every version."))
  var json = false
  @Argument(help: ArgumentHelp(translated("The backup."), valueName: "file"), completion: .file())
  var file: String

  func run() throws {
    let report = try Failure.telling { try read() }
    if !dryRun, report.added + report.replaced > 0 { place.makeGeneration() }
    print(json ? try report.json(file: file, isDry: dryRun) : report.restoreText(isDry: dryRun))
    if report.left > 0 || report.conflicts > 0 { throw ExitCode(4) }
  }

  private func read() throws -> ArchiveReport {
    let backup = try BackupFile(file)
    let terminal = try passphrase.conversation()
    let client = try place.connect()
    do {
      let number = try client.ask(
        BeginRestore(header: backup.header, takesTheirs: theirs, isDry: dryRun), until: ArchiveLimits.answer)
      try passphrase.ask(
        terminal, prompt: number, name: FilePath.name(of: file), cost: backup.cost)
      let progress = Progress()
      defer { progress.end() }
      Interruption.hold()
      try give(backup, to: client, progress)
      if Interruption.hasArrived {
        progress.end()
        Interruption.release()
        throw Failure.cancelled
      }
      let report = try client.finishArchive(until: ArchiveLimits.writing)
      Interruption.forget()
      return report
    } catch ControlError.declined(let reason) { throw Failure.backup(reason.told) }
  }

  private func give(_ backup: BackupFile, to client: borrowing ControlClient, _ progress: Progress) throws {
    var isLast = false
    while !isLast && !Interruption.hasArrived {
      let chunk = try backup.next()
      do throws(ControlError) { isLast = try client.ask(GiveChunk(chunk.bytes), until: ArchiveLimits.answer) } catch {
        let damage = BackupError.damagedChunk(chunk.number).reason
        guard error == .declined(damage) else { throw error }
        throw Failure.backup(
          translated("\(damage.told), which is at offset \(chunk.offset) of the file. Nothing was restored."))
      }
      progress.show(translated("\(backup.percent) % read"))
    }
    if isLast { try backup.expectEnd() }
  }
}
