import Glibc
import LatchkeyPosix

/// A file of a generation that must go: it is overwritten a piece at a time, then removed.
final class HistoryErasure {
  /// The suffix of such a file.
  static let suffix = ".erased"
  private static let piece = [UInt8](repeating: 0, count: 256 << 10)

  private let folder: Folder
  private let name: String
  private let file: FileDescriptor
  /// The position of the next byte to overwrite; nil if nothing is left to overwrite.
  private var position: Int?

  private init(_ folder: consuming Folder, _ name: String, _ file: consuming FileDescriptor, isToBeOverwritten: Bool) {
    self.folder = folder
    self.name = name
    self.file = file
    position = isToBeOverwritten ? 0 : nil
  }

  /// A free name for a file that must be erased.
  static func freeName(for name: String, in folder: borrowing Folder) -> String {
    var (free, number) = (name + suffix, 1)
    while folder.contains(free) {
      number += 1
      free = "\(name).\(number)\(suffix)"
    }
    return free
  }

  /// The next file to erase in the folder; nil if there is none.
  static func next(in folder: consuming Folder) -> HistoryErasure? {
    for name in (try? folder.names()) ?? [] where name.hasSuffix(suffix) {
      do {
        let file = try FileDescriptor.open(name, at: folder.number, flags: O_WRONLY | O_NOFOLLOW | O_NONBLOCK)
        let status = try file.status()
        if status.st_mode & S_IFMT == S_IFREG {
          // A file that has another name too must not be overwritten. Only its name here is removed.
          return HistoryErasure(folder, name, file, isToBeOverwritten: status.st_nlink == 1)
        }
      } catch {}
      folder.remove(name)
    }
    return nil
  }

  /// Overwrites for a moment.
  ///
  /// - Returns: whether there is more to overwrite. If not, the file's name has been removed.
  func step() -> Bool {
    let end = Process.now + History.stepTime
    while let place = position {
      // If the disk cannot be written to, the file's name is removed without overwriting.
      position = (try? file.overwriteBlocks(from: place, with: Self.piece)) ?? nil
      if position != nil, Process.now >= end {
        file.beginWriting()
        return true
      }
    }
    try? file.synchronize()
    folder.remove(name)
    return false
  }
}
