import Glibc
import LatchkeyGettext
import LatchkeyPosix

/// A new folder of the user's own, for a program that reads or writes files by their names only. The folder and its file are
/// removed with the value.
struct PrivateFolder: ~Copyable {
  private let folder: String
  /// The path of the file.
  let file: String

  /// - Parameters:
  ///   - runtime: the folder in which the new folder is made.
  ///   - purpose: a part of the new folder's name.
  init(in runtime: String, for purpose: String, file name: String) throws {
    var template = Array("\(runtime)/latchkey-\(purpose)-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw Failure.declined(
        translated("no folder could be made in \(runtime): \(String(cString: strerror(errno)))."))
    }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    file = "\(folder)/\(name)"
  }

  /// Writes the file.
  borrowing func write(_ bytes: RawSpan) throws(PosixError) {
    let new = try FileDescriptor.open(file, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    try new.writeAll(bytes)
  }

  deinit {
    unlink(file)
    rmdir(folder)
  }
}
