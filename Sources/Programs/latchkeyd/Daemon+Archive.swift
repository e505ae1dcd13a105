import LatchkeyBackup
import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault

// Backups and restores, one at a time.
extension Daemon {
  func beginBackup(on connection: any PromptConnection) throws(Refusal) -> UInt64 {
    try mayBeginArchive()
    _ = try Refusal.vault { () throws(VaultError) in try vault.reader.itemCount() }
    return begin(.backup, .newBackup, on: connection)
  }

  func beginRestore(
    _ request: RestoreRequest, on connection: any PromptConnection
  ) throws(Refusal) -> UInt64 {
    try mayBeginArchive()
    let header: BackupHeader
    do throws(BackupError) { header = try BackupHeader(decoding: request.header) } catch {
      throw Refusal(reason: error.explanation)
    }
    // Before anybody is asked for a passphrase.
    _ = try Refusal.vault { () throws(VaultError) in
      try Restore(vault, id: header.id, takingTheirs: request.takesTheirs, isDry: request.isDry)
    }
    return begin(.restore(header, request), .backup, on: connection)
  }

  private func mayBeginArchive() throws(Refusal) {
    guard archive == nil else { throw Refusal(reason: "another backup or restore is under way") }
    // Whoever sits at the screen is not known to be the one who types.
    guard !isLockerUp else { throw Refusal(reason: "the screen is locked: unlock it first") }
    guard vault.isUnlocked else {
      throw Refusal(
        reason: vault.hasDatabase
          ? "the vault is locked: run 'latchkey unlock' first" : "there is no vault that is open: log in first")
    }
  }

  private func begin(
    _ purpose: Archive.Purpose, _ question: Question, on connection: any PromptConnection
  ) -> UInt64 {
    let (number, _) = prompts.open(question, on: connection)
    archive = Archive(purpose, prompt: number, on: connection)
    return number
  }

  /// The key of its passphrase came: the work can begin.
  func startArchive(prompt number: UInt64, _ key: borrowing Key) -> UnlockOutcome {
    guard let archive, archive.prompt == number else { return .refused("nobody waits for that passphrase") }
    if case .failed(let reason) = archive.work { return .refused(reason) }
    do throws(VaultError) {
      guard try archive.start(key, prompts.newDerivation(ofPrompt: number), vault: vault, loop: loop) else {
        prompts.wasWrong(prompt: number)
        return .wrongKeys
      }
    } catch {
      archive.cancel(error.explanation)
      return .unusable(error.explanation)
    }
    // The prompt is over; its connection goes on.
    prompts.ended(on: archive.connection)
    archive.limit = try? loop.addTimer(after: Archive.silenceLimit) { [weak archive] in archive?.connection.withdraw {}
    }
    return .live
  }

  func archiveEnded(on connection: any PromptConnection) {
    guard let ended = archive, ended.connection === connection else { return }
    archive = nil
    ended.cancel("its connection has ended")
  }

  /// What is under way on a connection.
  private func work(on connection: any PromptConnection) throws(Refusal) -> Archive.Work {
    guard let archive, archive.connection === connection else {
      throw Refusal(reason: "no backup or restore was begun")
    }
    archive.limit?.rearm(after: Archive.silenceLimit)
    if case .failed(let reason) = archive.work { throw Refusal(reason: reason) }
    return archive.work
  }

  func takeChunk(on connection: any PromptConnection) throws(Refusal) -> ArchiveChunk {
    guard case .backup(let backup) = try work(on: connection) else {
      throw Refusal(reason: "its passphrase was not given")
    }
    do throws(VaultError) { return try backup.next() } catch {
      archive?.cancel(error.explanation)
      throw Refusal(reason: error.explanation)
    }
  }

  func giveChunk(
    _ chunk: [UInt8], on connection: any PromptConnection, answer: @escaping (Result<Bool, Refusal>) -> Void
  ) {
    do throws(Refusal) {
      guard case .restore(let restore) = try work(on: connection) else {
        throw Refusal(reason: "its passphrase was not given")
      }
      restore.give(chunk) { [weak self] result in
        // What is damaged once is not restored, whatever follows.
        if case .failure(let refusal) = result { self?.archive?.cancel(refusal.reason) }
        answer(result)
      }
    } catch { answer(.failure(error)) }
  }

  func archiveReport(after line: UInt64, on connection: any PromptConnection) throws(Refusal) -> ArchivePage {
    switch try work(on: connection) {
    case .waiting, .failed: throw Refusal(reason: "its passphrase was not given")
    case .backup(let backup):
      guard let report = backup.report else { throw Refusal(reason: "the backup has not come to its end") }
      return ArchivePage(of: report, after: line)
    case .restore(let restore):
      let report = try restore.report { presence?.service?.restored($0) }
      // Writing takes its time on a slow disk: whoever waited for it was not silent.
      archive?.limit?.rearm(after: Archive.silenceLimit)
      return ArchivePage(of: report, after: line)
    }
  }
}
