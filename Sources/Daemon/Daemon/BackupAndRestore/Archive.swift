import LatchkeyBackup
import LatchkeyBackupControl
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyPrompts
import LatchkeyReasons
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault

/// A backup or a restore on one connection: first a prompt asks for its passphrase, and then the client takes or gives one chunk
/// after the other. The work ends when the connection ends, or when the vault is locked.
final class Archive {
  enum Purpose {
    case backup
    case restore(BackupHeader, BeginRestore)
  }

  enum Work {
    /// The passphrase has not been given yet.
    case waiting
    case backup(BackupWork)
    case restore(RestoreWork)
    /// The work has ended, for this reason.
    case failed(Reason)
  }

  let purpose: Purpose
  let prompt: UInt64
  let connection: any PromptConnection
  private(set) var work = Work.waiting
  /// Ends the work if the client is silent for too long, because no other client can make or restore a backup meanwhile.
  var limit: EventSource?

  static let silenceLimit = Duration.seconds(60)

  init(_ purpose: Purpose, prompt: UInt64, on connection: any PromptConnection) {
    self.purpose = purpose
    self.prompt = prompt
    self.connection = connection
  }

  /// How the passphrase of the backup to restore becomes a key.
  func derivation(prompt number: UInt64) -> PassphraseDerivation? {
    guard number == prompt, case .restore(let header, _) = purpose else { return nil }
    return header.derivation
  }

  /// Erases the keys of the work. The next answer tells the client the reason.
  func cancel(_ reason: Reason) {
    if case .failed = work { return }
    let before = work
    work = .failed(reason)
    if case .restore(let restore) = before { restore.cancel(Refusal(reason)) }
  }

  /// Begins with the key that the passphrase gave.
  ///
  /// - Returns: whether the key is right.
  func start(
    _ key: borrowing Key, _ derivation: PassphraseDerivation?, vault: Vault, loop: EventLoop
  ) throws(VaultError) -> Bool {
    guard case .waiting = work else { return true }
    switch purpose {
    case .backup:
      guard let derivation else { return false }
      work = .backup(try BackupWork(vault, derivation, key: key))
    case .restore(let header, let request):
      do throws(BackupError) {
        let reader = try BackupReader(header, key: key)
        let restore = try Archive.restore(vault, header, request)
        work = .restore(RestoreWork(reader, restore, loop: loop))
      } catch {
        guard error != .wrongPassphrase else { return false }
        throw .unavailable(error.reason)
      }
    }
    return true
  }

  private static func restore(
    _ vault: Vault, _ header: BackupHeader, _ request: BeginRestore
  ) throws(BackupError) -> Restore {
    do throws(VaultError) {
      return try Restore(vault, id: header.id, takingTheirs: request.takesTheirs, isDry: request.isDry)
    } catch { throw .malformed(error.reason) }
  }
}

/// The chunks of a backup, each made on request.
final class BackupWork {
  private let export: Export
  private var writer: BackupWriter
  private var hasBegun = false

  /// The time for which other clients may wait for one chunk, in milliseconds.
  static let sliceLimit = 10

  init(_ vault: Vault, _ derivation: PassphraseDerivation, key: borrowing Key) throws(VaultError) {
    let id = Sodium.randomBytes(16)
    export = try Export(vault, id: id)
    do throws(SodiumError) {
      writer = try BackupWriter(id: id, created: Process.time, derivation, key: key)
    } catch { throw .outOfMemory }
  }

  /// The next part of the file: a full chunk, or as much as one slice of time allows.
  func next() throws(VaultError) -> ArchiveChunk {
    guard hasBegun else {
      hasBegun = true
      return chunk(writer.header.bytes)
    }
    let end = Process.now + BackupWork.sliceLimit
    while !writer.isOver {
      if let bytes = writer.chunk(flushing: Process.now >= end) { return chunk(bytes) }
      guard let record = try export.next() else {
        writer.finish()
        continue
      }
      writer.put(record)
    }
    return chunk([])
  }

  private func chunk(_ bytes: [UInt8]) -> ArchiveChunk {
    ArchiveChunk(bytes: bytes, isLast: writer.isOver, done: export.done, total: export.total)
  }

  /// The items that were left out; nil before the end.
  var report: ArchiveReport? { writer.isOver ? export.report : nil }
}

/// A backup that is read chunk by chunk, and then written into the vault.
final class RestoreWork {
  private var reader: BackupReader
  private let restore: Restore
  private let loop: EventLoop
  private var isDone = false
  private var idle: EventSource?
  private var answer: ((Result<Bool, Refusal>) -> Void)?

  init(_ reader: consuming BackupReader, _ restore: Restore, loop: EventLoop) {
    self.reader = reader
    self.restore = restore
    self.loop = loop
  }

  /// Takes a chunk. The answer comes after all of its records were compared, and says whether the chunk was the last.
  func give(_ chunk: [UInt8], answer: @escaping (Result<Bool, Refusal>) -> Void) {
    guard self.answer == nil else { return answer(.failure(Refusal(.refusal(.chunksOutOfOrder)))) }
    do throws(BackupError) { try reader.take(chunk.span.bytes) } catch {
      return answer(.failure(Refusal(error.reason)))
    }
    self.answer = answer
    guard turn() else { return }
    idle = try? loop.addIdle { [weak self] in self?.turn() ?? false }
    if idle == nil { finish(.failure(Refusal(.refusal(.noMemory)))) }
  }

  /// Compares records for a moment.
  ///
  /// - Returns: whether there are more in this chunk.
  private func turn() -> Bool {
    let end = Process.now + BackupWork.sliceLimit
    do {
      while let record = try reader.next() {
        try restore.take(record)
        if Process.now >= end { return answer != nil }
      }
      if reader.isWhole, restore.verify() { return answer != nil }
      finish(.success(reader.isWhole))
    } catch let error as BackupError {
      finish(.failure(Refusal(error.reason)))
    } catch let error as VaultError {
      finish(.failure(Refusal(error.reason)))
    } catch { finish(.failure(Refusal(.verbatim("\(error)")))) }
    return false
  }

  private func finish(_ result: Result<Bool, Refusal>) {
    idle = nil
    let waiting = answer
    answer = nil
    waiting?(result)
  }

  func cancel(_ refusal: Refusal) { finish(.failure(refusal)) }

  /// Writes everything, once, and reports the changes to `changed`.
  func report(_ changed: (Restore.Changes) -> Void) throws(Refusal) -> ArchiveReport {
    guard reader.isWhole else { throw Refusal(.refusal(.backupIncomplete)) }
    if !isDone {
      let changes = try Refusal.vault { () throws(VaultError) in try restore.finish() }
      isDone = true
      changed(changes)
    }
    return restore.report
  }
}
