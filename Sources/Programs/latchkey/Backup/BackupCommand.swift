import ArgumentParser
import Glibc
import LatchkeyBackup
import LatchkeyBackupControl
import LatchkeyControl
import LatchkeyGettext
import LatchkeyPosix

/// `latchkey backup`
struct BackupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: translated("Write the vault into one encrypted file, with a passphrase of its own."),
    discussion: translated(
      """
      The vault must be unlocked. Anybody with the file and its passphrase can read the secrets, except those of the \
      classes …-this-device-only, which only this device can restore. Items of when-passcode-set-this-device-only are \
      in no backup. Collections with an explicit lock, or whose passphrase was not given, are left out and named. A \
      collection's own passphrase does not protect its items in the file.
      Exit status 4: the file was written, but something was left out that should be in it. Items of \
      when-passcode-set-this-device-only do not count here: --json has their number as 'excluded'.
      """))

  @OptionGroup var place: DaemonPlace
  @OptionGroup var passphrase: ArchivePassphrase
  @Flag(help: .translated("Replace the file if it exists."))
  var force = false
  @Flag(help: .translated("Report as JSON, with the same keys in every version."))
  var json = false
  @Argument(help: ArgumentHelp(translated("The file to write."), valueName: "file"), completion: .file())
  var file: String

  func run() throws {
    let report = try Failure.telling { try write() }
    print(json ? try report.json(file: file, isDry: nil) : report.backupText(file))
    if report.left > 0 || report.lines.contains(where: { $0.outcome == .left }) { throw ExitCode(4) }
  }

  private func write() throws -> ArchiveReport {
    let (folder, name) = (FilePath.folder(of: file), FilePath.name(of: file))
    try Failure.checkNew(file, replacing: force)
    let terminal = try passphrase.conversation()
    let client = try place.connect()
    do {
      let number = try client.ask(BeginBackup(), until: ArchiveLimits.answer)
      try passphrase.ask(terminal, prompt: number, name: name, cost: nil)
      let progress = Progress()
      defer { progress.end() }
      Interruption.hold()
      do {
        let new = try writing { () throws(PosixError) in try NewFile(name, in: folder, replacing: force) }
        while !Interruption.hasArrived {
          let chunk = try client.ask(TakeChunk(), until: ArchiveLimits.answer)
          try writing { () throws(PosixError) in try new.append(chunk.bytes) }
          progress.show(translated("\(chunk.done) of \(max(chunk.done, chunk.total)) items"))
          guard chunk.isLast else { continue }
          let report = try client.finishArchive(until: ArchiveLimits.answer)
          try writing { () throws(PosixError) in try new.finish() }
          Interruption.forget()
          return report
        }
      }
      // The unfinished file has been removed by now.
      progress.end()
      Interruption.release()
      throw Failure.cancelled
    } catch ControlError.declined(let reason) { throw Failure.backup(reason.told) }
  }
}

extension BackupCommand {
  private func writing<Result>(_ body: () throws(PosixError) -> Result) throws -> Result {
    try Failure.writing(file, body)
  }
}

/// The time limits for the daemon, in milliseconds.
enum ArchiveLimits {
  /// The limit for one answer.
  static var answer: Int { LatchkeyPosix.Process.now + 30_000 }
  /// The deadline of the step that writes a whole restore.
  static var writing: Int { LatchkeyPosix.Process.now + 600_000 }
}
