import LatchkeyBackup
import LatchkeyBackupControl
import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeyReasons
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault

/// Backups and restores over the control socket, one at a time.
final class ArchiveService {
  private let vault: Vault
  private let loop: EventLoop
  private let session: SessionReference
  private let presence: BusPresence
  private let queue: PromptQueue
  /// The backup or restore that is under way.
  private var archive: Archive?

  init(_ vault: Vault, queue: PromptQueue, session: SessionReference, presence: BusPresence, loop: EventLoop) {
    self.vault = vault
    self.queue = queue
    self.session = session
    self.presence = presence
    self.loop = loop
  }

  /// Registers the messages of the control socket that this type answers.
  func serve(in table: inout ControlTable) {
    table.answer(BeginBackup.self) { [unowned self] _, peer throws(Refusal) in
      try peer.beginPrompt { () throws(Refusal) in try beginBackup(on: peer) }
    }
    table.answer(BeginRestore.self) { [unowned self] message, peer throws(Refusal) in
      try peer.beginPrompt { () throws(Refusal) in try beginRestore(message, on: peer) }
    }
    table.answer(TakeChunk.self) { [unowned self] _, peer throws(Refusal) in try takeChunk(on: peer) }
    table.answerLater(GiveChunk.self) { [unowned self] message, peer, answer in
      giveChunk(message.bytes, on: peer, answer: answer)
    }
    table.answer(FinishArchive.self) { [unowned self] message, peer throws(Refusal) in
      try report(after: message.after, on: peer)
    }
  }

  /// How the passphrase of a backup that is to be restored becomes a key; nil if no restore waits for that passphrase.
  func derivation(prompt number: UInt64) -> PassphraseDerivation? { archive?.derivation(prompt: number) }

  /// Erases the keys of the work under way.
  func cancel(_ reason: Reason) { archive?.cancel(reason) }

  private func beginBackup(on connection: any PromptConnection) throws(Refusal) -> UInt64 {
    try mayBeginArchive()
    _ = try Refusal.vault { () throws(VaultError) in try vault.reader.itemCount() }
    return begin(.backup, .newBackup, on: connection)
  }

  private func beginRestore(
    _ request: BeginRestore, on connection: any PromptConnection
  ) throws(Refusal) -> UInt64 {
    try mayBeginArchive()
    let header: BackupHeader
    do throws(BackupError) { header = try BackupHeader(decoding: request.header) } catch {
      throw Refusal(error.reason)
    }
    // This is checked before anybody is asked for a passphrase.
    _ = try Refusal.vault { () throws(VaultError) in
      try Restore(vault, id: header.id, takingTheirs: request.takesTheirs, isDry: request.isDry)
    }
    return begin(.restore(header, request), .backup, on: connection)
  }

  private func mayBeginArchive() throws(Refusal) {
    guard archive == nil else { throw Refusal(.refusal(.otherArchive)) }
    // The typing person may be another than the person at the screen.
    guard !session.machine.lockerUp else { throw Refusal(.refusal(.screenLocked)) }
    guard vault.isUnlocked else {
      throw Refusal(.refusal(vault.hasDatabase ? .vaultLockedBefore : .noVaultUnlocked))
    }
  }

  private func begin(
    _ purpose: Archive.Purpose, _ question: Question, on connection: any PromptConnection
  ) -> UInt64 {
    let (number, _) = queue.open(question, on: connection)
    archive = Archive(purpose, prompt: number, on: connection)
    return number
  }

  /// Begins the work: the key of its passphrase has come.
  func start(prompt number: UInt64, _ key: borrowing Key) -> UnlockOutcome {
    guard let archive, archive.prompt == number else { return .refused(.refusal(.noArchiveWaits)) }
    if case .failed(let reason) = archive.work { return .refused(reason) }
    do throws(VaultError) {
      guard try archive.start(key, queue.newDerivation(ofPrompt: number), vault: vault, loop: loop) else {
        queue.wasWrong(prompt: number)
        return .wrongKeys
      }
    } catch {
      archive.cancel(error.reason)
      return .unusable(error.reason)
    }
    // The prompt is over, but its connection stays.
    queue.ended(on: archive.connection)
    archive.limit = try? loop.addTimer(after: Archive.silenceLimit) { [weak archive] in archive?.connection.withdraw {}
    }
    return .live
  }

  func ended(on connection: any PromptConnection) {
    guard let ended = archive, ended.connection === connection else { return }
    archive = nil
    ended.cancel(.refusal(.connectionEnded))
  }

  /// The work of this connection.
  private func work(on connection: any PromptConnection) throws(Refusal) -> Archive.Work {
    guard let archive, archive.connection === connection else {
      throw Refusal(.refusal(.noArchiveBegun))
    }
    archive.limit?.rearm(after: Archive.silenceLimit)
    if case .failed(let reason) = archive.work { throw Refusal(reason) }
    return archive.work
  }

  private func takeChunk(on connection: any PromptConnection) throws(Refusal) -> ArchiveChunk {
    guard case .backup(let backup) = try work(on: connection) else {
      throw Refusal(.refusal(.passphraseNotGiven))
    }
    do throws(VaultError) { return try backup.next() } catch {
      archive?.cancel(error.reason)
      throw Refusal(error.reason)
    }
  }

  private func giveChunk(
    _ chunk: [UInt8], on connection: any PromptConnection, answer: @escaping (Result<Bool, Refusal>) -> Void
  ) {
    do throws(Refusal) {
      guard case .restore(let restore) = try work(on: connection) else {
        throw Refusal(.refusal(.passphraseNotGiven))
      }
      restore.give(chunk) { [weak self] result in
        // A damaged chunk ends the restore.
        if case .failure(let refusal) = result { self?.archive?.cancel(refusal.reason) }
        answer(result)
      }
    } catch { answer(.failure(error)) }
  }

  private func report(after line: UInt64, on connection: any PromptConnection) throws(Refusal) -> ArchivePage {
    switch try work(on: connection) {
    case .waiting, .failed: throw Refusal(.refusal(.passphraseNotGiven))
    case .backup(let backup):
      guard let report = backup.report else { throw Refusal(.refusal(.backupIncomplete)) }
      return ArchivePage(of: report, after: line)
    case .restore(let restore):
      let report = try restore.report { presence.service?.restored($0) }
      // On a slow disk the write may take long. The client waited for it, so its time limit begins again.
      archive?.limit?.rearm(after: Archive.silenceLimit)
      return ArchivePage(of: report, after: line)
    }
  }
}
