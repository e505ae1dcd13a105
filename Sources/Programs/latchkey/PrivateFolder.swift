import Glibc
import LatchkeyGettext
import LatchkeyPosix

/// A new folder of the user's own for a program that reads or writes files by their names only. It goes with the value, and
/// with it the file that it was made for.
struct PrivateFolder: ~Copyable {
  private let folder: String
  /// Where the file is, or is to be.
  let file: String

  /// - Parameters:
  ///   - runtime: the folder that it is made in.
  ///   - purpose: a part of its name.
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
