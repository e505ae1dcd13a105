import Glibc
import LatchkeyBackup
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeyPosix

/// A backup that is read chunk by chunk. The daemon reads the content of the chunks.
final class BackupFile {
  private let path: String
  private let file: FileDescriptor
  private let size: Int
  private var offset = 0
  private var chunks = 0

  /// The first bytes.
  let header: [UInt8]
  /// The cost of one guess of the file's passphrase.
  let cost: PasswordCost

  /// A chunk without its length.
  struct Chunk {
    let bytes: [UInt8]
    /// The chunk's number, counted from 1.
    let number: Int
    /// The place in the file where the chunk and its length begin.
    let offset: Int
  }

  init(_ path: String) throws {
    self.path = path
    do throws(PosixError) {
      file = try FileDescriptor.open(path, flags: O_RDONLY | O_NONBLOCK)
      let status = try file.status()
      guard status.st_mode & S_IFMT == S_IFREG else { throw PosixError("open", code: EINVAL) }
      size = Int(status.st_size)
      header = try BackupFile.read(BackupHeader.size, from: file)
    } catch {
      throw Failure.file(
        error.code == EINVAL
          ? translated("\(path) is not a file")
          : translated("\(path) cannot be read: \(String(cString: strerror(error.code)))"))
    }
    offset = header.count
    // The file ends within the header. The message says so, even if the file is no backup at all.
    do throws(BackupError) { cost = try BackupHeader(decoding: header).derivation.cost } catch {
      throw Failure.backup(error.reason.told)
    }
  }

  private static func read(_ count: Int, from file: borrowing FileDescriptor) throws(PosixError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let filled = try file.read(into: &bytes)
    return Array(bytes.prefix(filled))
  }

  private func read(_ count: Int) throws -> [UInt8] {
    do throws(PosixError) {
      let bytes = try BackupFile.read(count, from: file)
      offset += bytes.count
      return bytes
    } catch { throw Failure.file(translated("\(path) cannot be read: \(String(cString: strerror(error.code)))")) }
  }

  /// The part of the file that was read, in percent.
  var percent: Int { size == 0 ? 100 : min(100, offset * 100 / size) }

  /// The next chunk; there must be one.
  func next() throws -> Chunk {
    let start = offset
    chunks += 1
    let prefix = try read(4)
    guard prefix.count == 4 else { throw cut() }
    let length = prefix.reversed().reduce(0) { $0 << 8 | Int($1) }
    guard length <= BackupReader.chunkLimit else {
      let damage = BackupError.damagedChunk(chunks).reason.told
      throw Failure.backup(
        translated(
          "\(damage), which is at offset \(start) of the file. Nothing was restored."
        ))
    }
    let bytes = try read(length)
    guard bytes.count == length else { throw cut() }
    return Chunk(bytes: bytes, number: chunks, offset: start)
  }

  private func cut() -> Failure {
    .backup(
      translated(
        "the backup is cut off: it ends at offset \(offset), within or before chunk \(chunks). Nothing was restored."))
  }

  /// Nothing may follow the last chunk.
  func expectEnd() throws {
    guard try read(1).isEmpty else {
      throw Failure.backup(
        translated("something follows the backup's end, at offset \(offset - 1). Nothing was restored."))
    }
  }
}
