import Glibc
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySQLite

/// A copy of a database that is being made, under a name that no generation can have.
final class HistoryDraft {
  /// The suffix of a file that is not whole yet.
  static let suffix = ".new"
  /// The name of the draft of a new generation.
  static let newName = "generation" + suffix
  /// The number of pages that are copied before the next look at the clock.
  private static let batch: Int32 = 16

  let path: String
  private let name: String
  private let file: FileDescriptor
  private var copy: DatabaseCopy?

  /// Begins a copy in the folder of the generations.
  init(
    _ name: String, of source: Database, in folder: borrowing Folder, path: String
  ) throws(VaultError) {
    Self.remove(name, in: folder)
    self.name = name
    self.path = path + "/" + name
    do throws(PosixError) {
      // SQLite would make a file that others can read, so the file is made here.
      file = try FileDescriptor.open(
        name, at: folder.number, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    } catch { throw VaultError(error, .generation) }
    let path = self.path
    do throws(VaultError) {
      copy = try VaultError.store { () throws(SQLiteError) in try DatabaseCopy(of: source, to: path) }
    } catch {
      // The copy is empty so far.
      folder.remove(name)
      throw error
    }
  }

  /// Copies pages until `time` milliseconds have passed, or the copy is complete.
  ///
  /// - Returns: whether there is more to copy.
  func step(for time: Int) throws(VaultError) -> Bool {
    let end = Process.now + time
    guard let copy else { return false }
    repeat {
      guard try VaultError.store({ () throws(SQLiteError) in try copy.step(pages: Self.batch) }) else {
        self.copy = nil
        break
      }
    } while Process.now < end
    beginWriting()
    return self.copy != nil
  }

  /// Makes the disk begin with the writes for which ``finish(as:in:replacing:)`` waits.
  func beginWriting() { file.beginWriting() }

  /// Gives the finished copy the name of a generation, after all its content is on the disk.
  ///
  /// - Parameter replacing: whether a file of that name exists.
  func finish(as other: String, in folder: borrowing Folder, replacing: Bool) throws(VaultError) {
    do throws(PosixError) {
      try file.synchronize()
      if replacing { try folder.replace(other, by: name) } else { try folder.rename(name, to: other) }
    } catch { throw VaultError(error, .generation) }
  }

  /// Removes a draft that is no longer wanted. It may contain items that were deleted later, so it is overwritten like a
  /// generation.
  static func remove(_ name: String, in folder: borrowing Folder) {
    if folder.contains(name) { try? folder.rename(name, to: HistoryErasure.freeName(for: name, in: folder)) }
    folder.removeDatabase(name)
  }

  /// The size of the file in bytes.
  var size: Int { (try? file.status()).map { Int($0.st_size) } ?? 0 }
}

extension VaultError {
  init(_ error: PosixError, _ what: SubjectReason) {
    self =
      error.code == ENOSPC || error.code == EDQUOT ? .diskFull : .unavailable(.of(what, .verbatim(error.description)))
  }
}
